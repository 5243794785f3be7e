import { Type } from 'typebox';
import type { Pool } from '../../../db/pool.ts';
import type { Clock } from '../../../lib/clock.ts';
import { readQueue } from '../../../stats/queue-store.ts';
import { NullableTime } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';

const Queue = Type.Object(
  {
    queued: Type.Integer({ description: 'On their way, or next.' }),
    deferred: Type.Integer({ description: 'A receiver asked to come again later.' }),
    scheduled: Type.Integer({ description: 'Their time has not come.' }),
    oldest_due_at: Type.Unsafe<string | null>({
      ...NullableTime,
      description: 'Since when the one that waits longest could have left; null when none waits.',
    }),
    more: Type.Boolean({ description: 'There are more than were counted, which is 10,000.' }),
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
      summary: 'See what waits now',
      description: 'What of the key’s mode has not reached its end: how much, and since when.',
      scope: 'read:messages',
      responses: { 200: { description: 'The queue at this moment.', body: Queue } },
    },
    async ({ caller }) => {
      const { queued, deferred, scheduled, oldestDueAtMs, more } = await readQueue(
        deps.pool,
        caller,
        deps.clock.now(),
      );
      const oldest_due_at = oldestDueAtMs === null ? null : new Date(oldestDueAtMs).toISOString();
      return { status: 200, body: { queued, deferred, scheduled, oldest_due_at, more } };
    },
  );
}
