import type { Caller } from '../../accounts/caller.ts';
import type { MemoryBudget } from '../../lib/memory-budget.ts';
import type { MailParser } from '../../mail/mime/mail-parser.ts';
import type { MessageAcceptor } from '../../messages/accept/accept-message.ts';
import { hashRequest } from '../../messages/accept/idempotency.ts';
import type { SendRequest } from '../../messages/accept/send-request.ts';
import type { MessageData } from '../message-data.ts';
import { rejectUnsafeData, withReceivedData } from '../receive-data.ts';
import { mailToSendRequest } from './mail-to-send-request.ts';

export interface AcceptSubmissionParts {
  acceptor: Pick<MessageAcceptor, 'accept'>;
  /** Validates a request against the schema of the API's send endpoint. */
  checkShape: (body: object) => void;
}

/** Resources shared by all messages that are being received. */
export interface SubmissionResources {
  memory: MemoryBudget;
  parser: MailParser;
}

/**
 * Receives one message and commits it; resolves with its id. On any error it throws and nothing is
 * stored.
 */
export function acceptSubmission(
  parts: AcceptSubmissionParts,
  { memory, parser }: SubmissionResources,
  stream: MessageData,
  caller: Caller,
  recipients: readonly string[],
): Promise<string> {
  return withReceivedData(stream, memory.reserve(caller.workspaceId), async (data) => {
    rejectUnsafeData(stream);
    const mail = await parser.parse(caller.workspaceId, data);
    const submitted = mailToSendRequest(mail, data, recipients);
    const { request, idempotencyKey, messageId, original } = submitted;
    parts.checkShape(toSchemaShape(request, recipients));
    const idempotency =
      idempotencyKey === undefined
        ? undefined
        : {
            workspaceId: caller.workspaceId,
            mode: caller.mode,
            key: idempotencyKey,
            requestHash: hashRequest('SMTP', 'submission', submitted.identity()),
          };
    const { message } = await parts.acceptor.accept(caller, request, {
      idempotency,
      verbatim: true,
      messageId,
      original,
    });
    return message.id;
  });
}

/**
 * The part of the request that the API schema can check: envelope addresses were checked at RCPT TO,
 * headers are checked on acceptance, and `to` may be empty.
 */
function toSchemaShape(request: SendRequest, [first]: readonly string[]): object {
  const { cc: _cc, bcc: _bcc, headers: _headers, ...rest } = request;
  return { ...rest, to: { email: first } };
}
