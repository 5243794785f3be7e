import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/harness/database/database.ts';
import { until } from '../../../test/harness/until.ts';
import { silentLog } from '../../lib/log.ts';
import { ManualClock } from '../../lib/time/manual-clock.ts';
import type { AttemptReport } from '../delivery.ts';
import { NotPreparedError } from '../transport/outgoing-mail.ts';
import { WarmUp } from './warm-up.ts';
import { DAY_MS } from './warm-up-plan.ts';
import { listWarmUps, warmUpMemory } from './warm-up-store.ts';

/** Nodes share the caps of a warm-up through the database; each node of these tests is a `WarmUp`. */

const START = Date.UTC(2026, 10, 20);
const NOON = START + DAY_MS / 2;
const SENDER = '203.0.113.8';

let database: TestDatabase;
let clock: ManualClock;
beforeEach(async () => {
  database = await createTestDatabase();
  clock = new ManualClock(NOON);
});
afterEach(() => database[Symbol.asyncDispose]());

function newNode(startsAtMs = START, sender = SENDER, startDay = 1): WarmUp {
  const memory = warmUpMemory(database.pool, sender);
  return new WarmUp({ sender, startsAtMs, startDay, memory, clock, log: silentLog });
}

const stored = () => listWarmUps(database.pool, { nowMs: clock.now(), sinceMs: 0 });

/** Sends one message after the other until none is allowed. */
async function sendAll(node: WarmUp, provider = 'Google'): Promise<number> {
  for (let sent = 0; ; sent += 1) if ((await node.admit(provider, 1)) === 0) return sent;
}

/** The reply of a server, or null if none was reached. */
function report(text: string | null, enhanced = '4.7.28'): AttemptReport {
  const reply = { code: 450, enhanced, text: text ?? '' };
  const smtp = { ...reply, mx: text === null ? null : 'mx1.example.test', ip: null, tls: null };
  return {
    end:
      text === null
        ? { kind: 'name_server_failed', detail: 'No answer.' }
        : { kind: 'refused', stage: 'body', reply, afterFinalDot: false, staleConnection: false },
    startedAtMs: clock.now(),
    finishedAtMs: clock.now(),
    smtp,
    transcript: null,
  };
}

test('two nodes together send exactly the cap to each provider', async () => {
  const nodes = [newNode(), newNode()];
  const sent = await Promise.all(
    nodes.flatMap((node) => [sendAll(node), sendAll(node), sendAll(node, 'Yahoo and AOL')]),
  );
  expect(sent.reduce((sum, one) => sum + one)).toBe(100);
  expect(await stored()).toMatchObject([
    { sender: SENDER, provider: 'Google', planDay: 1, leased: 50 },
    { sender: SENDER, provider: 'Yahoo and AOL', planDay: 1, leased: 50 },
  ]);
  for (const node of nodes) expect(node.isExhausted('Google')).toBe(true);
  expect(await sendAll(newNode(START, '203.0.113.9'))).toBe(50);
});

test('the next day allows more, and each provider has one row however many days pass', async () => {
  const node = newNode();
  const sent: number[] = [];
  for (let day = 0; day < 6; day++) {
    sent.push(await sendAll(node));
    clock.advance(DAY_MS);
    expect(node.isExhausted('Google')).toBe(false);
  }
  expect(sent).toEqual([50, 75, 100, 150, 200, 300]);
  expect(await stored()).toHaveLength(1);
});

test('a day on which the provider objects, or on which little is sent, is repeated', async () => {
  const node = newNode();
  expect(await node.admit('Google', 50)).toBe(50);
  node.attempted('Google', [report('Unusual rate of unsolicited mail from your IP address')]);
  await until(async () => (await stored())[0]?.refused === 1, { clock });
  clock.advance(DAY_MS);
  expect(await node.admit('Google', 24)).toBe(24);
  clock.advance(DAY_MS);
  expect(await sendAll(node)).toBe(50);
  clock.advance(DAY_MS);
  expect(await sendAll(node)).toBe(75);
});

test('a message that reached no server, or that was refused for itself, changes nothing', async () => {
  const node = newNode();
  expect(await node.admit('Google', 50)).toBe(50);
  node.attempted('Google', [report(null), report('The mailbox is full', '4.2.2')]);
  expect(await sendAll(node)).toBe(1);
  await node.close();
  expect(await stored()).toMatchObject([{ leased: 50, refused: 0 }]);
});

test('a node that stops returns what it has not sent, and one that is killed loses a block', async () => {
  await database.pool.query(
    `insert into warm_ups (sender, provider, starts_at, day, plan_day, leased, refused, overflowed)
     values ($1, 'Google', $2, $2, 11, 0, 0, 0)`,
    [SENDER, new Date(START)],
  );
  const stopped = newNode();
  expect(await stopped.admit('Google', 1)).toBe(1);
  expect(await stored()).toMatchObject([{ leased: 32 }]);
  await stopped.close();
  expect(await stored()).toMatchObject([{ leased: 1 }]);
  const killed = newNode();
  expect(await killed.admit('Google', 1)).toBe(1);
  expect(await sendAll(newNode())).toBe(1_600 - 1 - 32);
});

test('a node that found the cap used asks again, because another may have stopped', async () => {
  const [waiting, stopping] = [newNode(), newNode()];
  expect(await stopping.admit('Google', 50)).toBe(50);
  expect(await waiting.admit('Google', 1)).toBe(0);
  stopping.attempted('Google', [report(null)]);
  await stopping.close();
  expect(waiting.isExhausted('Google')).toBe(true);
  await until(() => !waiting.isExhausted('Google'), { clock, stepMs: 10_000 });
  expect(await sendAll(waiting)).toBe(1);
});

test('nothing is sent before the plan starts, and everything after it has ended', async () => {
  const early = newNode(START + DAY_MS);
  expect(early.isExhausted('Google')).toBe(true);
  expect(await early.admit('Google', 1)).toBe(0);
  expect(await stored()).toEqual([]);
  await database.pool.query(
    `insert into warm_ups (sender, provider, starts_at, day, plan_day, leased, refused, overflowed)
     values ($1, 'Google', $2, $2, 30, 1000000, 0, 0)`,
    [SENDER, new Date(START)],
  );
  clock.advance(DAY_MS);
  const node = newNode();
  expect(await node.admit('Google', 5_000_000)).toBe(5_000_000);
  expect(await stored()).toMatchObject([{ planDay: 31 }]);
  expect(node.isExhausted('Google')).toBe(false);
  await database.pool.query('drop table warm_ups');
  expect(await node.admit('Google', 1)).toBe(1);
});

test('an address that is half warm begins in the middle of the plan', async () => {
  const node = newNode(START, SENDER, 6);
  expect(await sendAll(node)).toBe(300);
  expect(await stored()).toMatchObject([{ planDay: 6, leased: 300 }]);
  clock.advance(DAY_MS);
  expect(await sendAll(node)).toBe(400);
  const restarted = newNode(START, SENDER, 6);
  expect(await sendAll(restarted)).toBe(0);
  expect(await stored()).toMatchObject([{ planDay: 7, leased: 400 }]);
});

test('reports say which warm-up they count for, unless nothing was sent or it has ended', async () => {
  const node = newNode();
  expect(await node.admit('Google', 2)).toBe(2);
  const warmUp = { sender: SENDER, provider: 'Google' };
  const reports = node.attempted('Google', [report('Slow down'), report(null)]);
  expect(reports.map((one) => one.warmUp)).toEqual([warmUp, undefined]);
  await node.close();
  const ended = newNode(START, '203.0.113.9', 30);
  await ended.admit('Google', 600_000);
  clock.advance(DAY_MS);
  await ended.admit('Google', 1);
  expect(ended.attempted('Google', [report('Slow down')])[0]?.warmUp).toBeUndefined();
});

test('without the database nothing is sent beyond what was leased', async () => {
  const node = newNode();
  await database.pool.query('alter table warm_ups rename to renamed');
  await expect(node.admit('Google', 1)).rejects.toThrow(NotPreparedError);
  await database.pool.query('alter table renamed rename to warm_ups');
  expect(await sendAll(node)).toBe(50);
});

test('messages beyond the cap are counted in groups', async () => {
  const node = newNode();
  await sendAll(node);
  for (let n = 0; n < 20; n++) node.overflowed('Google', 2);
  await until(async () => (await stored())[0]?.overflowed === 40, { clock });
});
