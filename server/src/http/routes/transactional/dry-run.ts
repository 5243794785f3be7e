import type { Caller } from '../../../accounts/caller.ts';
import type { MessageAcceptor } from '../../../messages/accept/accept-message.ts';
import { SendMessage } from '../../../messages/accept/send-request.ts';
import { previewMessage } from '../../../messages/content/content-view.ts';
import { type Operation, operation } from '../../operation.ts';
import type { LargeResponseLimiter } from '../../server/large-response-limiter.ts';
import { MessageContent } from '../messages/schemas.ts';
import { SEND_EXAMPLES } from './send.ts';
import { SEND_PROBLEMS } from './send-problems.ts';

const OF_COMMIT = new Set(['overloaded', 'message_id_in_use']);

export function dryRunTransactional(deps: {
  acceptor: MessageAcceptor;
  largeAnswers: LargeResponseLimiter;
}): Operation {
  return operation(
    {
      id: 'dryRunTransactional',
      method: 'POST',
      path: '/transactional/dry-run',
      tag: 'Sending',
      summary: 'Validate and render a message',
      description:
        'Takes the body of a send, makes all of its checks and returns the message as its ' +
        'recipient would see it. Nothing is stored or sent. Content that uses fields of the contact ' +
        'requires `read:contacts` too; without it, the locale of the contact selects no variant.',
      scope: 'send:transactional',
      notAudited: 'changes nothing',
      body: SendMessage,
      semanticChecks: (body, invalid, caller?: Caller) =>
        deps.acceptor.checkRemainingFields(invalid, body, caller?.mode),
      examples: SEND_EXAMPLES,
      responses: { 200: { description: 'The message is valid.', body: MessageContent } },
      problems: ['quota_exceeded', ...SEND_PROBLEMS.filter((code) => !OF_COMMIT.has(code))],
    },
    async ({ caller, body, signal }) => {
      await deps.largeAnswers.acquire(caller.workspaceId, signal);
      const message = await deps.acceptor.dryRun(caller, body);
      return { status: 200, body: await previewMessage(message) };
    },
  );
}
