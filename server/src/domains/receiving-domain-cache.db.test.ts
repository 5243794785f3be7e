import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/harness/database/database.ts';
import { newWorkspace } from '../../test/harness/database/enqueue-messages.ts';
import type { Pool } from '../db/connections/pool.ts';
import { uuidv7 } from '../lib/ids.ts';
import { ManualClock } from '../lib/time/manual-clock.ts';
import { ReceivingDomainCache } from './receiving-domain-cache.ts';

/**
 * Goal: the workspace of a domain is read once, and never used after a change. Method: a cache that
 * receives no notifications, on a pool that counts queries.
 */

let database: TestDatabase;
let workspaceId: string;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());
beforeEach(async () => {
  workspaceId = await newWorkspace(database.pool, Date.now());
});

async function addDomain(name: string, receiving = true): Promise<void> {
  await database.pool.query(
    `insert into domains (workspace_id, id, name, status, ownership_token, return_path_host, tls,
       track_opens, track_clicks, receiving, created_at)
     values ($1, $2, $3, 'verified', 'x', 'x', 'required', false, false, $4, now())`,
    [workspaceId, uuidv7(Date.now()), name, receiving],
  );
}

function setUp() {
  const clock = new ManualClock(0);
  const state = { queries: 0, maxAgeMs: 60_000 };
  const pool = {
    query: (...query: Parameters<Pool['query']>) => {
      state.queries += 1;
      return database.pool.query(...query);
    },
  } as unknown as Pool;
  const cache = new ReceivingDomainCache({ pool, clock, maxAgeMs: () => state.maxAgeMs });
  return { cache, clock, state };
}

test('concurrent and later callers share one read', async () => {
  await addDomain('shared.test');
  const { cache, state } = setUp();
  const found = await Promise.all([cache.find('shared.test'), cache.find('shared.test')]);
  expect(found).toEqual(Array(2).fill(expect.objectContaining({ workspaceId })));
  expect((await cache.find('shared.test'))?.name).toBe('shared.test');
  expect(state.queries).toBe(1);
});

test('a domain that does not receive is unknown, and asked for once', async () => {
  await addDomain('sends-only.test', false);
  const { cache, state } = setUp();
  for (const name of ['sends-only.test', 'nobody.test', 'sends-only.test', 'nobody.test']) {
    expect(await cache.find(name)).toBeUndefined();
  }
  expect(state.queries).toBe(2);
});

test('a change of the workspace is seen at once, and other workspaces stay cached', async () => {
  await addDomain('kept.test');
  const { cache, state } = setUp();
  expect(await cache.find('kept.test')).toBeDefined();
  const kept = workspaceId;
  workspaceId = await newWorkspace(database.pool, Date.now());
  expect(await cache.find('new.test')).toBeUndefined();
  await addDomain('new.test');
  cache.invalidateWorkspace(workspaceId);
  expect(await cache.find('new.test')).toMatchObject({ workspaceId });
  const before = state.queries;
  expect(await cache.find('kept.test')).toMatchObject({ workspaceId: kept });
  expect(state.queries).toBe(before);

  await database.pool.query("update domains set receiving = false where name = 'new.test'");
  cache.invalidateWorkspace(workspaceId);
  expect(await cache.find('new.test')).toBeUndefined();
});

test('a read that started before an invalidation is not kept', async () => {
  const { cache } = setUp();
  const before = cache.find('racing.test');
  cache.invalidateWorkspace(workspaceId);
  expect(await before).toBeUndefined();
  await addDomain('racing.test');
  expect(await cache.find('racing.test')).toBeDefined();
});

test('entries expire, and a failed read is repeated', async () => {
  const { cache, clock, state } = setUp();
  await cache.find('expired.test');
  await addDomain('expired.test');
  clock.advance(60_000);
  expect(await cache.find('expired.test')).toBeDefined();
  await database.allowConnections(false);
  state.maxAgeMs = 0;
  await expect(cache.find('expired.test')).rejects.toThrow();
  await database.allowConnections(true);
  expect(await cache.find('expired.test')).toBeDefined();
});

test('many unknown names neither evict known ones nor add up', async () => {
  await addDomain('busy.test');
  const { cache, state } = setUp();
  await cache.find('busy.test');
  await cache.find('first.test');
  for (let n = 0; n < 50; n++) {
    const names = Array.from({ length: 100 }, (_, at) => `unknown-${n * 100 + at}.test`);
    await Promise.all(names.map((name) => cache.find(name)));
  }
  const before = state.queries;
  expect(await cache.find('busy.test')).toBeDefined();
  expect(state.queries).toBe(before);
  await cache.find('first.test');
  expect(state.queries).toBe(before + 1);
});
