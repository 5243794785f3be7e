import type { publicEvent } from '../../../events/events-store.ts';
import { exportOperation } from '../../export-operation.ts';
import type { Operation } from '../../operation.ts';
import type { LargeResponseLimiter } from '../../server/large-response-limiter.ts';
import { Event } from './event-schemas.ts';
import { listEvents } from './list.ts';

export function exportEvents(
  deps: Parameters<typeof listEvents>[0] & { largeAnswers: LargeResponseLimiter },
): Operation {
  return exportOperation<ReturnType<typeof publicEvent>>(listEvents(deps), deps.largeAnswers, {
    id: 'exportEvents',
    summary: 'Export events',
    items: 'events',
    schema: Event,
    columns: ['id', 'type', 'created_at', 'message_id', 'recipient', 'data'],
    toCells: ({ id, type, created_at, data }) => [
      [id, type, created_at, data.message_id, data.recipient, data],
    ],
  });
}
