import { expect, test } from 'vitest';
import type { Pool } from '../db/connections/pool.ts';
import { newId } from '../lib/ids.ts';
import { silentLog } from '../lib/log.ts';
import { ManualClock } from '../lib/time/manual-clock.ts';
import { type RequestEntry, RequestLog } from './request-log.ts';

const WORKSPACE = '019a8f00-0000-7000-8000-000000000001';
const OTHER = '019a8f00-0000-7000-8000-000000000002';

function setUp(query: () => Promise<unknown> = async () => ({})) {
  const clock = new ManualClock(Date.UTC(2026, 10, 17));
  const log = new RequestLog({ pool: { query } as unknown as Pool, clock, log: silentLog });
  /** How many of `times` requests were kept. */
  const request = (times: number, status: number, workspaceId = WORKSPACE): number => {
    let kept = 0;
    for (let n = 0; n < times; n++) {
      if (!log.admits(workspaceId, status)) continue;
      log.add(entry(clock.now(), status, workspaceId));
      kept += 1;
    }
    return kept;
  };
  return { clock, log, request };
}

function entry(nowMs: number, status: number, workspaceId: string): RequestEntry {
  return {
    workspaceId,
    mode: 'test',
    id: newId('req', nowMs),
    method: 'POST',
    url: '/api/v1/transactional/send',
    operation: 'sendTransactional',
    status,
    durationMs: 1,
    actor: 'key_01kc8x3f7ye6qvj2m4n5p6q7r8',
    ip: '127.0.0.1',
    userAgent: '',
    messageId: null,
    details: null,
  };
}

test('successful requests are sampled when there are many; each workspace has its own budget', () => {
  const { clock, log, request } = setUp();
  expect(request(50, 202)).toBe(50);
  expect(request(1_000, 202)).toBe(50);
  expect(request(50, 200, OTHER)).toBe(50);
  expect(request(100, 422)).toBe(100);
  expect(request(10, 422)).toBe(0);
  expect(log.counts).toEqual({ written: 0, sampled: 950, dropped: 10 });
  clock.advance(1_000);
  expect(request(50, 202)).toBe(50);
});

test('entries are written after a second, and no timer is set while there are none', async () => {
  const { clock, log, request } = setUp();
  for (const written of [3, 6]) {
    expect(clock.timers).toBe(0);
    request(3, 202);
    clock.advance(999);
    expect(log.counts.written).toBe(written - 3);
    clock.advance(1);
    await expect.poll(() => log.counts.written).toBe(written);
  }
  request(1, 202);
  await log.flush();
  expect([clock.timers, log.counts.written]).toEqual([0, 7]);
});

test('memory is bounded, and a write frees it', async () => {
  const { clock, log, request } = setUp();
  for (let second = 0; second < 60; second++) {
    request(100, 422);
    clock.advance(1_000);
  }
  expect(log.counts).toEqual({ written: 0, sampled: 0, dropped: 1_000 });
  await log.flush();
  expect(log.counts.written).toBe(5_000);
  expect(request(1, 422)).toBe(1);
});

test('entries that cannot be written are dropped and counted, and never fail a request', async () => {
  const { log, request } = setUp(() => Promise.reject(new Error('the disk is full')));
  request(3, 422);
  await log.flush();
  expect(log.counts).toEqual({ written: 0, sampled: 0, dropped: 3 });
});
