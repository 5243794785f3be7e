import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { silentLog } from '../lib/log.ts';
import { ManualClock } from '../lib/manual-clock.ts';
import type { LeasedRow } from './fan-out-store.ts';
import { type DispatchStore, WebhookDispatcher } from './webhook-dispatcher.ts';

// Goal: the state of deleted endpoints is removed. Method: a fake store that sees the capacity
// which the dispatcher requests for each endpoint.

test('the queue of a deleted endpoint is removed after a while', async () => {
  const clock = new ManualClock(1_000_000);
  const due = ['one', 'two', 'three'].map(rowOf);
  let known: string[] = [];
  const store: DispatchStore = {
    anyEnabled: async () => false,
    skipToEnd: async () => {},
    fanOut: async () => ({ seen: 0, made: 0, leased: [] }),
    claim: async (_after, capacity) => {
      known = capacity.perEndpoint.map(({ id }) => id);
      return { rows: due.splice(0), cursor: undefined };
    },
    release: async () => {},
    failOrphans: async () => 0,
    record: async (results) => results.map(() => true),
  };
  const attempt = async (row: LeasedRow) => failed(row);
  const dispatcher = new WebhookDispatcher({
    store,
    attempt,
    disable: async () => {},
    clock,
    log: silentLog,
  });
  dispatcher.start();
  await passes(clock, 60_000);
  expect(dispatcher.stats.failed).toBe(3);
  expect(known.toSorted()).toEqual(['one', 'three', 'two']);
  await passes(clock, 15 * 60_000);
  expect(known).toEqual([]);
  await dispatcher.stop(1_000);
});

test('a workspace whose endpoints do not respond leaves capacity to others', async () => {
  const clock = new ManualClock(1_000_000);
  const due = Array.from({ length: 100 }, (_, n) => rowOf(`silent ${n}`));
  const attempted: string[] = [];
  const store: DispatchStore = {
    anyEnabled: async () => false,
    skipToEnd: async () => {},
    fanOut: async () => ({ seen: 0, made: 0, leased: [] }),
    claim: async () => ({ rows: due.splice(0), cursor: undefined }),
    release: async () => {},
    failOrphans: async () => 0,
    record: async (results) => results.map(() => true),
  };
  const { promise: responded, resolve: respond } = Promise.withResolvers<undefined>();
  const attempt = (row: LeasedRow) => {
    attempted.push(row.webhook_id);
    return responded;
  };
  const dispatcher = new WebhookDispatcher({
    store,
    attempt,
    disable: async () => {},
    clock,
    log: silentLog,
    limits: { inFlightMax: 20 },
  });
  dispatcher.start();
  await passes(clock, 5_000);
  expect(attempted.length).toBeGreaterThanOrEqual(10);
  due.push({ ...rowOf('another’s'), workspace_id: 'another' });
  await passes(clock, 5_000);
  expect(attempted).toContain('another’s');
  respond(undefined);
  await dispatcher.stop(1_000);
});

async function passes(clock: ManualClock, ms: number): Promise<void> {
  for (let at = 0; at < ms; at += 1_000) {
    clock.advance(1_000);
    await nextTurn();
    await nextTurn();
  }
}

function rowOf(webhookId: string): LeasedRow {
  return {
    workspace_id: 'w',
    mode: 'live',
    webhook_id: webhookId,
    event_id: `event of ${webhookId}`,
    cycle_attempts: 0,
    revision: 1,
    failing_since: null,
    type: 'message.delivered',
    created_at: 0,
    sequence: null,
    data: '{}',
  };
}

function failed({ workspace_id, mode, webhook_id, event_id }: LeasedRow) {
  const at = new Date(0).toISOString();
  const result = {
    ...{ workspace_id, mode, webhook_id, event_id, at, started_at: at, due_at: at },
    status: 'pending' as const,
    duration_ms: 1,
    url: 'https://gone.example/',
    headers: {},
    response_status: null,
    response_body: null,
    error: 'Connection refused.',
    failing: false,
  };
  return { result, disable: undefined, retryAfterMs: undefined };
}
