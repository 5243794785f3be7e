import { expect, test } from 'vitest';
import { uuidv7 } from '../../src/base/ids.ts';
import { ManualClock } from '../../src/base/manual-clock.ts';
import { Alarms } from '../../src/stats/alarms.ts';
import { freshDatabase } from '../harness/database.ts';
import { enqueue, eventsOf, newWorkspace } from '../harness/queue.ts';

/**
 * Goal: an alarm is told once when it begins and once when it is over, for each thing that can go
 * wrong, whichever of several nodes looks.
 * Method: figures are put where the rooms put them; a clock is moved by hand.
 */

const MINUTE_MS = 60_000;

async function scene() {
  const clock = new ManualClock(Date.now());
  const database = await freshDatabase();
  const { pool } = database;
  const workspaceId = await newWorkspace(pool, clock.now());
  const alarms = new Alarms({
    pool,
    clock,
    thresholds: {
      bounceRate: 0.05,
      complaintRate: 0.003,
      windowMs: 60 * MINUTE_MS,
      recipientsMin: 100,
      queueAgeMs: 15 * MINUTE_MS,
      webhookFailingMs: 30 * MINUTE_MS,
    },
  });
  return {
    clock,
    pool,
    workspaceId,
    alarms,
    async count(counter: string, n: number) {
      await pool.query(
        `insert into statistics_minute values ($1, 'live', 'domain', date_trunc('minute', $2::timestamptz), 'a.example', $3, $4)
         on conflict (workspace_id, mode, dimension, at, value, counter) do update set n = excluded.n`,
        [workspaceId, new Date(clock.now()), counter, n],
      );
    },
    async told() {
      const events = await eventsOf(pool, workspaceId);
      return events.map(({ type, data }) => {
        const { alarm } = data as { alarm: { kind: string; subject: string | null } };
        return [type, alarm.kind, alarm.subject];
      });
    },
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}

test('a bounce rate over its threshold, from too little mail to its end', async () => {
  await using on = await scene();
  await on.count('delivered', 50);
  await on.count('bounced', 20);
  await on.alarms.look();
  expect(await on.told()).toEqual([]);
  await on.count('delivered', 180);
  await Promise.all([on.alarms.look(), on.alarms.look(), on.alarms.look()]);
  await on.alarms.look();
  const raised = ['alarm.raised', 'bounce_rate', 'a.example'];
  expect(await on.told()).toEqual([raised]);
  // Just under the threshold is still the same episode.
  await on.count('bounced', 9);
  await on.alarms.look();
  expect(await on.told()).toEqual([raised]);
  await on.count('bounced', 2);
  await on.alarms.look();
  const cleared = ['alarm.cleared', 'bounce_rate', 'a.example'];
  expect(await on.told()).toEqual([raised, cleared]);
  await on.count('bounced', 60);
  await on.alarms.look();
  on.clock.advance(2 * 60 * MINUTE_MS);
  await on.alarms.look();
  expect(await on.told()).toEqual([raised, cleared, raised, cleared]);
});

test('complaints', async () => {
  await using on = await scene();
  await on.count('delivered', 1_000);
  await on.count('complained', 2);
  await on.alarms.look();
  expect(await on.told()).toEqual([]);
  await on.count('complained', 3);
  await on.alarms.look();
  expect(await on.told()).toEqual([['alarm.raised', 'complaint_rate', 'a.example']]);
});

test('mail that waits too long', async () => {
  await using on = await scene();
  const { pool, workspaceId, clock } = on;
  await enqueue(pool, [
    { workspaceId, nowMs: clock.now(), recipients: ['a@example.com'], dueAtMs: clock.now() },
  ]);
  clock.advance(14 * MINUTE_MS);
  await on.alarms.look();
  expect(await on.told()).toEqual([]);
  clock.advance(2 * MINUTE_MS);
  await on.alarms.look();
  await on.alarms.look();
  expect(await on.told()).toEqual([['alarm.raised', 'queue_age', null]]);
  await pool.query(`update deliveries set status = 'delivered', due_at = null`);
  await on.alarms.look();
  expect((await on.told()).at(-1)).toEqual(['alarm.cleared', 'queue_age', null]);
});

test('an endpoint that fails', async () => {
  await using on = await scene();
  const { pool, workspaceId, clock } = on;
  await pool.query(
    `insert into webhooks (workspace_id, mode, id, url, events, description, enabled, since_tx,
       failing_since, created_at, updated_at)
     values ($1, 'test', $2, 'https://a.example/', '{*}', '', true, 0, $3, $3, $3)`,
    [workspaceId, uuidv7(clock.now()), new Date(clock.now())],
  );
  await on.alarms.look();
  expect(await on.told()).toEqual([]);
  clock.advance(31 * MINUTE_MS);
  await on.alarms.look();
  expect(await on.told()).toMatchObject([
    ['alarm.raised', 'webhook_failing', expect.stringMatching(/^whk_/)],
  ]);
  await pool.query('update webhooks set failing_since = null');
  await on.alarms.look();
  expect((await on.told()).map(([type]) => type)).toEqual(['alarm.raised', 'alarm.cleared']);
});
