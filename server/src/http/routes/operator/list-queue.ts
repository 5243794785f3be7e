import { Type } from 'typebox';
import type { Pool } from '../../../db/connections/pool.ts';
import { listThrottles } from '../../../delivery/receivers/throttle-store.ts';
import { listCurrentWarmUps } from '../../../delivery/warm-up/warm-up-store.ts';
import { encodeId } from '../../../lib/ids.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import { listQueueByDomain } from '../../../stats/queue-store.ts';
import { id, NullableTime, Time } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';

const GROUP = {
  workspace: { id: 'wsp_01kc8wzq4he2x9v7n5m3k1j0h8', name: 'Shop' },
  receiver: 'gmail.com',
  queued: 3,
  deferred: 12,
  scheduled: 0,
  next_attempt_at: '2026-11-15T09:30:00.000Z',
  reason: 'rate_limited',
};

const WARM_UP = {
  address: '203.0.113.8',
  provider: 'Google',
  day: 5,
  cap: 200,
  used: 200,
  overflowed: 1480,
  refused: 0,
};

const QueueGroups = Type.Object(
  {
    data: Type.Array(
      Type.Object({
        workspace: Type.Object({ id: id('wsp', 'the workspace'), name: Type.String() }),
        receiver: Type.String({ description: 'The domain of the recipients.' }),
        queued: Type.Integer(),
        deferred: Type.Integer(),
        scheduled: Type.Integer(),
        next_attempt_at: Time,
        reason: Type.Union([Type.String(), Type.Null()], {
          description: 'The most common reason of the deferred; null if none is.',
        }),
      }),
    ),
    more: Type.Boolean({ description: 'The queue is longer than the 10,000 that were counted.' }),
    throttled_receivers: Type.Array(
      Type.Object({ receiver: Type.String(), paused_until: NullableTime }),
      { description: 'Receivers that limit how much mail they accept from this server.' },
    ),
    warm_ups: Type.Array(
      Type.Object({
        address: Type.String({ description: 'The sending address, or several of a route.' }),
        provider: Type.String({ description: '`other` is all providers without a name.' }),
        day: Type.Integer({ description: 'The day of the plan, from 1.' }),
        cap: Type.Union([Type.Integer(), Type.Null()], {
          description: 'How many messages may be sent today; null after the warm-up has ended.',
        }),
        used: Type.Integer({
          description: 'How many of them were sent, or are reserved by nodes.',
        }),
        overflowed: Type.Integer({
          description: 'Messages of today that were sent by another route, or that wait.',
        }),
        refused: Type.Integer({
          description:
            'Messages that were refused today because of reputation or rate, and late bounces with ' +
            'these reasons and complaints that arrived today.',
        }),
      }),
      { description: 'Sending addresses that are being warmed up, with each provider.' },
    ),
  },
  {
    title: 'QueueGroups',
    description: 'Counts of recipients, largest groups first.',
    examples: [{ data: [GROUP], more: false, throttled_receivers: [], warm_ups: [WARM_UP] }],
  },
);

export function listOperatorQueue(deps: { pool: Pool; clock: Clock }): Operation {
  return operation(
    {
      id: 'listOperatorQueue',
      method: 'GET',
      path: '/operator/queue',
      tag: 'Operator',
      summary: 'Retrieve the queue by workspace and receiver',
      description:
        'Unfinished live mail of all workspaces. At most 10,000 recipients are counted and 100 ' +
        'groups returned.',
      scope: 'operator',
      responses: { 200: { description: 'The queue.', body: QueueGroups } },
    },
    async () => {
      const { waiting, more } = await listQueueByDomain(deps.pool, undefined);
      const throttles = await listThrottles(deps.pool);
      const data = waiting.map((group) => ({
        workspace: { id: encodeId('wsp', group.workspaceId), name: group.workspaceName },
        receiver: group.domain,
        queued: group.queued,
        deferred: group.deferred,
        scheduled: group.scheduled,
        next_attempt_at: new Date(group.dueAtMs).toISOString(),
        reason: group.reason,
      }));
      const throttled_receivers = throttles.slice(0, THROTTLES_MAX).map((throttle) => ({
        receiver: throttle.receiver,
        paused_until: new Date(throttle.pausedUntilMs).toISOString(),
      }));
      const warm_ups = await listCurrentWarmUps(deps.pool, deps.clock.now());
      return { status: 200, body: { data, more, throttled_receivers, warm_ups } };
    },
  );
}

const THROTTLES_MAX = 100;
