import { Type } from 'typebox';
import type { Pool } from '../../../db/connections/pool.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import { type QueueSnapshot, readQueue } from '../../../stats/queue-store.ts';
import { NullableTime } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';

export const Queue = Type.Object(
  {
    queued: Type.Integer({ description: 'Being delivered, or next in line.' }),
    deferred: Type.Integer({ description: 'Waiting for a retry.' }),
    scheduled: Type.Integer({ description: 'Scheduled for later.' }),
    oldest_due_at: Type.Unsafe<string | null>({
      ...NullableTime,
      description: 'Since when the oldest delivery has been due; null if none is.',
    }),
    more: Type.Boolean({
      description: 'Whether there are more than the 10,000 that were counted.',
    }),
  },
  {
    title: 'Queue',
    description: 'Counts of recipients.',
    examples: [{ queued: 3, deferred: 12, scheduled: 40, oldest_due_at: null, more: false }],
  },
);

export function getQueue(deps: { pool: Pool; clock: Clock }): Operation {
  return operation(
    {
      id: 'getQueue',
      method: 'GET',
      path: '/queue',
      tag: 'Messages',
      summary: 'Retrieve the queue',
      description:
        'How many deliveries of the key’s mode are unfinished, and since when the oldest is due.',
      scope: 'read:messages',
      responses: { 200: { description: 'The current queue.', body: Queue } },
    },
    async ({ caller }) => ({
      status: 200,
      body: publicQueue(await readQueue(deps.pool, caller, deps.clock.now())),
    }),
  );
}

export function publicQueue({ queued, deferred, scheduled, oldestDueAtMs, more }: QueueSnapshot) {
  const oldest_due_at = oldestDueAtMs === null ? null : new Date(oldestDueAtMs).toISOString();
  return { queued, deferred, scheduled, oldest_due_at, more };
}
