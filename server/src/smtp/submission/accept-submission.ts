import type { Caller } from '../../accounts/caller.ts';
import type { MemoryBudget } from '../../lib/memory/memory-budget.ts';
import type { MessageData } from '../message-data.ts';
import { rejectUnsafeData, withReceivedData } from '../receive-data.ts';

export interface AcceptSubmissionParts {
  mailAcceptor: SubmissionAcceptor;
}

/** MailAcceptor, or on a router what passes messages to the node that has one. */
export interface SubmissionAcceptor {
  accept(
    caller: Caller,
    data: Buffer,
    envelope: { recipients: readonly string[] },
  ): Promise<{ message: { id: string } }>;
}

/**
 * Receives one message and commits it; resolves with its id. On any error it throws and nothing is
 * stored.
 */
export function acceptSubmission(
  { mailAcceptor }: AcceptSubmissionParts,
  memory: MemoryBudget,
  stream: MessageData,
  caller: Caller,
  recipients: readonly string[],
): Promise<string> {
  return withReceivedData(stream, memory.reserve(caller.workspaceId), async (data) => {
    rejectUnsafeData(stream);
    const { message } = await mailAcceptor.accept(caller, data, { recipients });
    return message.id;
  });
}
