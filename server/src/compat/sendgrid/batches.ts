import { Type } from 'typebox';
import { closed, oneOf } from '../../http/openapi/shared-schemas.ts';
import { type Operation, operation } from '../../http/operation.ts';
import { BATCH_METADATA } from '../../http/routes/messages/schemas.ts';
import type { AnyRequest } from '../../http/server/call-operation.ts';
import { invalidFields, RefusedError } from '../../lib/refused-error.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import { refusedOperation } from '../refused-operation.ts';
import { checkBatchId, isBatchId, newBatchId } from './batch-id.ts';

/** https://www.twilio.com/docs/sendgrid/api-reference/cancel-scheduled-sends */

const Status = oneOf(['cancel', 'pause'] as const);
const Batch = Type.Object({ batch_id: Type.String() }, { title: 'SendGridBatch' });
const ScheduledSend = Type.Object(
  { batch_id: Type.String(), status: Status },
  { title: 'SendGridScheduledSend' },
);
const BatchId = Type.Object({ batch_id: Type.String() });

export function batchOperations(deps: CompatDependencies): Operation[] {
  return [...batchIds(deps), ...scheduledSends(deps)];
}

function batchIds({ clock }: CompatDependencies): Operation[] {
  return [
    operation(
      {
        id: 'sendgridCreateBatch',
        method: 'POST',
        path: '/v3/mail/batch',
        tag: 'Sending',
        summary: 'Create a batch id',
        description: 'For scheduled mail that may have to be cancelled together.',
        scope: 'send:transactional',
        responses: { 201: { description: 'The id.', body: Batch } },
      },
      () => ({ status: 201, body: { batch_id: newBatchId(clock.now()) } }),
    ),
    operation(
      {
        id: 'sendgridGetBatch',
        method: 'GET',
        path: '/v3/mail/batch/{batch_id}',
        tag: 'Sending',
        summary: 'Validate a batch id',
        scope: 'send:transactional',
        params: BatchId,
        responses: { 200: { description: 'The id is valid.', body: Batch } },
      },
      ({ params }) => {
        checkBatchId(params.batch_id, '/batch_id');
        return { status: 200, body: { batch_id: params.batch_id } };
      },
    ),
  ];
}

function scheduledSends(deps: CompatDependencies): Operation[] {
  const { call } = deps;
  return [
    operation(
      {
        id: 'sendgridCancelBatch',
        method: 'POST',
        path: '/v3/user/scheduled_sends',
        tag: 'Messages',
        summary: 'Cancel the scheduled messages of a batch',
        description: 'Final. Messages that are scheduled with the same id later are not affected.',
        scope: 'write:messages',
        body: closed({ batch_id: Type.String(), status: Status }),
        responses: { 201: { description: 'Cancelled.', body: ScheduledSend } },
      },
      async (request) => {
        const { batch_id: batchId, status } = request.body;
        checkBatchId(batchId, '/batch_id');
        checkStatus(status);
        await cancelBatch(deps, request, batchId);
        return { status: 201, body: { batch_id: batchId, status } };
      },
    ),
    operation(
      {
        id: 'sendgridUpdateScheduledSend',
        method: 'PATCH',
        path: '/v3/user/scheduled_sends/{batch_id}',
        tag: 'Messages',
        summary: 'Cancel the scheduled messages of a batch',
        scope: 'write:messages',
        params: BatchId,
        body: closed({ status: Status }),
        responses: { 204: { description: 'Cancelled.' } },
      },
      async (request) => {
        checkStatus(request.body.status);
        await cancelBatch(deps, request, knownBatch(request.params.batch_id));
        return { status: 204 };
      },
    ),
    operation(
      {
        id: 'sendgridGetScheduledSend',
        method: 'GET',
        path: '/v3/user/scheduled_sends/{batch_id}',
        tag: 'Messages',
        summary: 'Retrieve whether a batch was cancelled',
        scope: 'read:messages',
        params: BatchId,
        responses: {
          200: {
            description: 'Empty unless messages of the batch were cancelled.',
            body: Type.Array(ScheduledSend),
          },
        },
      },
      async (request) => {
        const batchId = knownBatch(request.params.batch_id);
        const { body } = await call(request, 'listMessages', {
          query: { ...batchQuery(batchId), status: 'cancelled', limit: '1' },
        });
        const isCancelled = body.data.length > 0;
        return {
          status: 200,
          body: isCancelled ? [{ batch_id: batchId, status: 'cancel' }] : [],
        };
      },
    ),
    refusedOperation(
      {
        id: 'sendgridListScheduledSends',
        method: 'GET',
        path: '/v3/user/scheduled_sends',
        tag: 'Messages',
        summary: 'List cancelled batches',
      },
      'not_found',
      'There is no list of cancelled batches. Retrieve a batch by its id.',
    ),
    refusedOperation(
      {
        id: 'sendgridDeleteScheduledSend',
        method: 'DELETE',
        path: '/v3/user/scheduled_sends/{batch_id}',
        tag: 'Messages',
        summary: 'Resume a batch',
      },
      'conflict',
      'Cancelled messages are final and cannot be resumed. Send them again.',
    ),
  ];
}

function checkStatus(status: 'cancel' | 'pause'): void {
  if (status === 'cancel') return;
  const detail = 'Scheduled messages cannot be paused. Cancel them, and send them again later.';
  throw invalidFields([{ pointer: '/status', code: 'unsupported', detail }]);
}

function knownBatch(batchId: string): string {
  if (isBatchId(batchId)) return batchId;
  throw new RefusedError('not_found', 'There is no batch with this id.');
}

function batchQuery(batchId: string): Record<string, string> {
  return { [`metadata[${BATCH_METADATA}]`]: batchId };
}

/** Repeating it after an interruption continues where it stopped. */
async function cancelBatch(
  { call }: CompatDependencies,
  request: AnyRequest,
  batchId: string,
): Promise<void> {
  let cursor: string | null = null;
  do {
    const query: Record<string, string> = {
      ...batchQuery(batchId),
      status: 'scheduled',
      limit: '100',
      ...(cursor === null ? {} : { cursor }),
    };
    const { body } = await call(request, 'listMessages', { query });
    for (const { id } of body.data as { id: string }[]) {
      if (request.signal.aborted) return;
      await cancelMessage(call, request, id);
    }
    cursor = body.next_cursor;
  } while (cursor !== null);
}

async function cancelMessage(
  call: CompatDependencies['call'],
  request: AnyRequest,
  id: string,
): Promise<void> {
  try {
    await call(request, 'cancelMessage', { params: { id } });
  } catch (error) {
    // Its time has come since it was listed.
    if (!(error instanceof RefusedError) || error.code !== 'not_cancellable') throw error;
  }
}
