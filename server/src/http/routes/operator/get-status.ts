import { Type } from 'typebox';
import type { Pool } from '../../../db/connections/pool.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import { readQueue } from '../../../stats/queue-store.ts';
import { readServerCounts, readServerStatus } from '../../../stats/server-status-store.ts';
import { VERSION } from '../../../version.ts';
import { type Operation, operation } from '../../operation.ts';
import { publicQueue, Queue } from '../stats/get-queue.ts';

const DAY_MS = 86_400_000;

const STATUS = {
  version: '0.1.0',
  nodes: 2,
  workspaces: { total: 120, suspended: 2, deleting: 1, slowed: 1, paused: 1 },
  last_24_hours: { messages: 51_000, delivered: 50_400, bounced: 380, complained: 12 },
  queue: { queued: 3, deferred: 12, scheduled: 40, oldest_due_at: null, more: false },
};

const ServerStatus = Type.Object(
  {
    version: Type.String(),
    nodes: Type.Integer({ description: 'Processes that deliver mail.' }),
    workspaces: Type.Object({
      total: Type.Integer(),
      suspended: Type.Integer(),
      deleting: Type.Integer({ description: 'Scheduled for deletion, or being deleted.' }),
      slowed: Type.Integer({ description: 'Slowed down by the automatic brake.' }),
      paused: Type.Integer({ description: 'Paused by the automatic brake.' }),
    }),
    last_24_hours: Type.Object(
      {
        messages: Type.Integer(),
        delivered: Type.Integer({ description: 'Recipients.' }),
        bounced: Type.Integer({ description: 'Recipients.' }),
        complained: Type.Integer({ description: 'Recipients.' }),
      },
      { description: 'Live mail of all workspaces, in whole hours.' },
    ),
    queue: Queue,
  },
  { title: 'ServerStatus', examples: [STATUS] },
);

export function getOperatorStatus(deps: {
  pool: Pool;
  clock: Clock;
  /** Delivers mail with a database of its own, so that it sends no heartbeats to be counted by. */
  isSoleDeliverer: boolean;
}): Operation {
  return operation(
    {
      id: 'getOperatorStatus',
      method: 'GET',
      path: '/operator/status',
      tag: 'Operator',
      summary: 'Retrieve the status of the server',
      description:
        'Workspaces by state, live mail of the last day, and the queue of live mail of all ' +
        'workspaces.',
      scope: 'operator',
      responses: { 200: { description: 'The status.', body: ServerStatus } },
    },
    async () => {
      const { pool, clock } = deps;
      const nowMs = clock.now();
      const { workspaces: total, nodes: counted, ...states } = await readServerStatus(pool);
      const nodes = deps.isSoleDeliverer ? 1 : counted;
      const queue = publicQueue(await readQueue(pool, 'all_live', nowMs));
      const last_24_hours = await readServerCounts(pool, nowMs - DAY_MS);
      const workspaces = { total, ...states };
      return { status: 200, body: { version: VERSION, nodes, workspaces, last_24_hours, queue } };
    },
  );
}
