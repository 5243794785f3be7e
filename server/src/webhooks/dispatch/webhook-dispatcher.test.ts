import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { silentLog } from '../../lib/log.ts';
import { ManualClock } from '../../lib/time/manual-clock.ts';
import type { LeasedRow } from '../fan-out/fan-out-store.ts';
import {
  type DispatcherLimits,
  type DispatchStore,
  WebhookDispatcher,
} from './webhook-dispatcher.ts';

/**
 * Goal: workspaces and endpoints are independent of each other. Method: a store in memory that
 * respects the capacities which the dispatcher states, and endpoints that never respond.
 */

interface Queued {
  due: LeasedRow[];
  attempted: string[];
  released: string[];
  /** What the next fan-out leases. */
  leased?: LeasedRow[];
  scans?: number;
}

function dispatcherWith(
  clock: ManualClock,
  queued: Queued,
  limits: Partial<DispatcherLimits> = {},
): WebhookDispatcher {
  const store: DispatchStore = {
    anyEnabled: async () => queued.leased !== undefined,
    skipToEnd: async () => {},
    fanOut: async () => {
      const leased = queued.leased?.splice(0) ?? [];
      return { seen: leased.length, made: leased.length, leased, chunkDue: false };
    },
    fanOutNextChunk: async () => undefined,
    fanOutDueChunk: async () => undefined,
    scan: async () => {
      queued.scans = (queued.scans ?? 0) + 1;
      return [...Map.groupBy(queued.due, ({ webhook_id }) => webhook_id)].map(
        ([webhookId, rows]) => {
          const workspaceId = rows[0]?.workspace_id ?? '';
          return { workspaceId, mode: 'live' as const, webhookId, dueAtMs: 0 };
        },
      );
    },
    claim: async (queues) =>
      queues.flatMap(({ webhookId, max }) => {
        const rows = queued.due.filter((row) => row.webhook_id === webhookId).slice(0, max);
        queued.due = queued.due.filter((row) => !rows.includes(row));
        return rows;
      }),
    renew: async (items) => items.map((_, index) => index),
    release: async (items) => queued.released.push(...items.map(({ row }) => row.webhook_id)),
    failOrphans: async () => 0,
    record: async (results) => results.map(() => true),
  };
  const { promise: never } = Promise.withResolvers<undefined>();
  return new WebhookDispatcher({
    store,
    attempt: (row) => {
      queued.attempted.push(row.webhook_id);
      return never;
    },
    disable: async () => {},
    clock,
    log: silentLog,
    limits,
  });
}

function silentRows(workspaceId: string, endpoints: number, each: number): LeasedRow[] {
  return Array.from({ length: endpoints * each }, (_, n) =>
    rowOf(workspaceId, `${workspaceId} ${n % endpoints}`),
  );
}

test('a workspace whose endpoints do not respond leaves capacity to others', async () => {
  const clock = new ManualClock(1_000_000);
  const queued: Queued = { due: silentRows('silent', 100, 1), attempted: [], released: [] };
  const dispatcher = dispatcherWith(clock, queued, { inFlightMax: 20 });
  dispatcher.start();
  await passes(clock, 5_000);
  expect(queued.attempted.length).toBeGreaterThanOrEqual(10);
  queued.due.push(rowOf('another', 'another’s'));
  await passes(clock, 5_000);
  expect(queued.attempted).toContain('another’s');
});

test('endpoints that do not respond do not fill the memory that other workspaces need', async () => {
  const clock = new ManualClock(1_000_000);
  const silent = ['a', 'b', 'c'].flatMap((name) => silentRows(name, 50, 40));
  const queued: Queued = { due: silent, attempted: [], released: [] };
  const dispatcher = dispatcherWith(clock, queued);
  dispatcher.start();
  await passes(clock, 5_000);
  expect(queued.due.length).toBeGreaterThan(0);
  expect(dispatcher.stats.ready).toBeLessThan(2_000);
  queued.due.push(rowOf('another', 'another’s'));
  // Less than the deadline of an attempt: nothing that is in memory can have ended.
  await passes(clock, 5_000);
  expect(queued.attempted).toContain('another’s');
  // The endpoints of one workspace, too, share what it has.
  expect(new Set(queued.attempted).size).toBeGreaterThan(50);
});

test('waiting deliveries are released when the node stops', async () => {
  const clock = new ManualClock(1_000_000);
  const queued: Queued = { due: silentRows('silent', 1, 10), attempted: [], released: [] };
  const dispatcher = dispatcherWith(clock, queued);
  dispatcher.start();
  await passes(clock, 2_000);
  expect(queued.attempted).toHaveLength(4);
  const stopped = dispatcher.stop(1_000);
  await passes(clock, 3_000);
  await stopped;
  expect(queued.released).toHaveLength(6);
  expect(dispatcher.stats.ready).toBe(0);
});

test('scans are rare while there are no deliveries, and frequent from the first one on', async () => {
  const clock = new ManualClock(1_000_000);
  const queued: Queued = { due: [], attempted: [], released: [], leased: [] };
  const dispatcher = dispatcherWith(clock, queued);
  dispatcher.start();
  await passes(clock, 17_000);
  expect(queued.scans).toBe(5);
  queued.leased?.push(rowOf('a', 'a’s'));
  dispatcher.wake();
  await passes(clock, 2_000);
  expect([queued.attempted, queued.scans]).toEqual([['a’s'], 6]);
});

async function passes(clock: ManualClock, ms: number): Promise<void> {
  for (let at = 0; at < ms; at += 1_000) {
    clock.advance(1_000);
    await nextTurn();
    await nextTurn();
  }
}

function rowOf(workspaceId: string, webhookId: string): LeasedRow {
  return {
    workspace_id: workspaceId,
    mode: 'live',
    webhook_id: webhookId,
    event_id: `event of ${webhookId}`,
    attempts: 0,
    cycle_attempts: 0,
    revision: 1,
    failing_since: null,
    type: 'message.delivered',
    created_at: 0,
    sequence: null,
    data: '{}',
  };
}
