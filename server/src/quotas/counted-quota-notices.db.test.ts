import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/harness/database/database.ts';
import { Workspaces } from '../accounts/workspaces.ts';
import { ManualClock } from '../lib/time/manual-clock.ts';
import { CountedQuota } from './counted-quota.ts';
import { CountedQuotaNotices, decideNotices } from './counted-quota-notices.ts';
import { contactQuotaExceeded } from './quota.ts';
import { deleteOldLeases } from './quota-store.ts';

/** Two nodes share a quota of 100 contacts. Each event is published once, by both together. */

const quota = { limit: 100, warnAtPercent: 80 };

let database: TestDatabase;
let clock: ManualClock;
let workspaceId: string;
let contacts: number;
let limit: number | null;

beforeEach(async () => {
  database = await createTestDatabase();
  clock = new ManualClock(Date.now());
  ({ id: workspaceId } = await new Workspaces({ pool: database.pool, clock }).create('Shop'));
  contacts = 0;
  limit = quota.limit;
});
afterEach(() => database[Symbol.asyncDispose]());

function newNode() {
  const count = async (_: string, max: number) => Math.min(max, contacts);
  const notices = new CountedQuotaNotices({
    ...{ pool: database.pool, clock, name: 'contacts' as const, count },
    limitOf: async () => (limit === null ? undefined : { ...quota, limit }),
  });
  const counted = new CountedQuota({
    ...{ clock, count, notices, refuse: contactQuotaExceeded },
    limitOf: () => limit,
  });
  const add = async (wanted: number) => {
    const { granted, settle } = await counted.reserve(workspaceId, wanted);
    contacts += granted;
    settle(granted);
  };
  return { add, notices };
}

/** The events so far, after the nodes have checked. */
async function published(...nodes: { notices: CountedQuotaNotices }[]): Promise<string[]> {
  clock.advance(10_000);
  await Promise.all(nodes.map(({ notices }) => notices.publish()));
  const { rows } = await database.pool.query<{ type: string; used: number }>(
    `select type, (data->'quota'->>'used')::int as used from events
     where workspace_id = $1 order by created_at, id`,
    [workspaceId],
  );
  return rows.map(({ type, used }) => `${type} ${used}`);
}

test('an import that crosses the share is followed by one warning of both nodes', async () => {
  const [first, second] = [newNode(), newNode()];
  await first.add(79);
  expect(await published(first, second)).toEqual([]);
  await Promise.all([first.add(1), second.add(1)]);
  expect(await published(first, second)).toEqual(['quota.warning 81']);
  await second.add(5);
  expect(await published(first, second)).toEqual(['quota.warning 81']);
  await first.add(50);
  const both = ['quota.warning 81', 'quota.exceeded 100'];
  expect(await published(first, second)).toEqual(both);
  await second.add(1);
  expect(await published(first, second)).toEqual(both);
});

test('a warning is repeated after the usage has clearly fallen, also between two checks', async () => {
  const [first, second] = [newNode(), newNode()];
  await first.add(80);
  const one = ['quota.warning 80'];
  expect(await published(first, second)).toEqual(one);
  contacts = 75;
  clock.advance(10_000);
  await second.add(6);
  expect(await published(first, second)).toEqual(one);
  contacts = 71;
  clock.advance(10_000);
  await second.add(10);
  expect(await published(first, second)).toEqual([...one, 'quota.warning 81']);
});

test('a low count from before a warning does not repeat it', async () => {
  const [first, second] = [newNode(), newNode()];
  await first.add(10);
  clock.advance(1);
  await second.add(75);
  expect(await published(second)).toEqual(['quota.warning 85']);
  expect(await published(first)).toEqual(['quota.warning 85']);
});

test('the warning outlives the cleanup of old periods', async () => {
  const node = newNode();
  await node.add(85);
  expect(await published(node)).toEqual(['quota.warning 85']);
  clock.advance(100 * 86_400_000);
  await deleteOldLeases(database.pool, clock.now());
  await node.add(1);
  expect(await published(node)).toEqual(['quota.warning 85']);
});

test('a lowered quota is checked without an addition, and a removed one is not', async () => {
  const node = newNode();
  await node.add(50);
  expect(await published(node)).toEqual([]);
  limit = null;
  node.notices.changed(workspaceId);
  expect(await published(node)).toEqual([]);
  limit = 60;
  node.notices.changed(workspaceId);
  expect(await published(node)).toEqual(['quota.warning 50']);
});

test('a quota of 0 warns of nothing, and reports a refusal', async () => {
  limit = 0;
  const node = newNode();
  node.notices.changed(workspaceId);
  expect(await published(node)).toEqual([]);
  await node.add(1);
  expect(await published(node)).toEqual(['quota.exceeded 0']);
});

test('shares decide what is published, and what may be again', () => {
  const decide = (used: number) =>
    decideNotices({ quota, used, lowest: { used, atMs: 0 }, isRefused: false });
  expect(decide(71)).toEqual({ cleared: ['warning', 'exceeded'], due: [] });
  expect(decide(79)).toEqual({ cleared: ['exceeded'], due: [] });
  expect(decide(80)).toEqual({ cleared: [], due: ['warning'] });
  expect(decide(100)).toEqual({ cleared: [], due: ['warning', 'exceeded'] });
});
