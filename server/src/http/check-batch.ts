import { Type } from 'typebox';
import type { BatchSender } from './batch-sender.ts';
import { closed } from './openapi/shared-schemas.ts';
import { type Operation, operation } from './operation.ts';

/**
 * Makes all checks of a strict batch and stores nothing. It has no path of its own: other surfaces
 * call it before they send in several parts, so that an invalid message changes nothing.
 */
export function checkBatch(deps: { batchSender: BatchSender }): Operation {
  return operation(
    {
      id: 'checkBatch',
      method: 'POST',
      path: '',
      tag: 'Sending',
      summary: 'Check a batch of messages',
      scope: 'send:transactional',
      notAudited: 'changes nothing',
      body: closed({ messages: Type.Array(Type.Unknown(), { minItems: 1 }) }),
      responses: { 204: { description: 'All messages are valid.' } },
    },
    async ({ caller, body }) => {
      await deps.batchSender.check(caller, body.messages);
      return { status: 204 };
    },
  );
}
