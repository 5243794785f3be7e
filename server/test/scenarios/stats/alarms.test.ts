import { expect, test } from 'vitest';
import type { Mode } from '../../../src/accounts/tenant-scope.ts';
import { encodeId, uuidv7 } from '../../../src/lib/ids.ts';
import { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import { Alarms } from '../../../src/stats/alarms.ts';
import { createTestDatabase } from '../../harness/database/database.ts';
import { enqueue, eventsOf, newWorkspace } from '../../harness/database/enqueue-messages.ts';

/**
 * Every alarm is reported once when it starts and once when it ends, whichever node evaluates it.
 * The tests insert the statistics directly and advance a manual clock.
 */

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

async function scene() {
  const clock = new ManualClock(Date.now());
  const database = await createTestDatabase();
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
      keyExpiryMs: 7 * DAY_MS,
      domainRecords: 1,
    },
  });
  const counted = new Map<string, number>();
  return {
    clock,
    pool,
    workspaceId,
    alarms,
    /** Sets a counter of this minute. */
    async count(
      counter: string,
      n: number,
      mode: Mode = 'live',
      [dimension, value]: [string, string] = ['domain', 'a.example'],
    ) {
      const at = Math.floor(clock.now() / MINUTE_MS) * MINUTE_MS;
      const key = [mode, dimension, value, counter, at].join();
      const more = n - (counted.get(key) ?? 0);
      counted.set(key, n);
      await pool.query(
        `insert into statistics_recent (workspace_id, mode, at, ${counter}, totals, ${dimension}s)
         values ($1, $2, $3, $4::integer, json_build_object('', json_build_object($5::text, $4::integer)),
           json_build_object($6::text, json_build_object($5::text, $4::integer)))`,
        [workspaceId, mode, new Date(at), more, counter, value],
      );
    },
    async alarmEvents() {
      const events = await eventsOf(pool, workspaceId);
      return events.map(({ type, data }) => {
        const { alarm } = data as { alarm: { kind: string; subject: string | null } };
        return [type, alarm.kind, alarm.subject];
      });
    },
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}

test('a bounce rate above its threshold, from too few messages to the end of the alarm', async () => {
  await using on = await scene();
  await on.count('delivered', 50);
  await on.count('bounced', 20);
  await on.alarms.check();
  expect(await on.alarmEvents()).toEqual([]);
  await on.count('delivered', 180);
  await Promise.all([on.alarms.check(), on.alarms.check(), on.alarms.check()]);
  await on.alarms.check();
  const raised = ['alarm.raised', 'bounce_rate', 'a.example'];
  expect(await on.alarmEvents()).toEqual([raised]);
  // Slightly below the threshold is still the same alarm.
  await on.count('bounced', 9);
  await on.alarms.check();
  expect(await on.alarmEvents()).toEqual([raised]);
  await on.count('bounced', 2);
  await on.alarms.check();
  const cleared = ['alarm.cleared', 'bounce_rate', 'a.example'];
  expect(await on.alarmEvents()).toEqual([raised, cleared]);
  await on.count('bounced', 60);
  await on.alarms.check();
  on.clock.advance(2 * 60 * MINUTE_MS);
  await on.alarms.check();
  expect(await on.alarmEvents()).toEqual([raised, cleared, raised, cleared]);
});

test('complaints', async () => {
  await using on = await scene();
  await on.count('delivered', 1_000);
  await on.count('complained', 2);
  await on.alarms.check();
  expect(await on.alarmEvents()).toEqual([]);
  await on.count('complained', 3);
  await on.alarms.check();
  expect(await on.alarmEvents()).toEqual([['alarm.raised', 'complaint_rate', 'a.example']]);
});

test('a stream with many complaints, if there is more than one stream', async () => {
  await using on = await scene();
  await on.count('delivered', 10_000);
  await on.count('complained', 5);
  await on.count('delivered', 1_000, 'live', ['stream', 'digest']);
  await on.count('complained', 5, 'live', ['stream', 'digest']);
  await on.alarms.check();
  expect(await on.alarmEvents()).toEqual([]);
  await on.count('delivered', 9_000, 'live', ['stream', 'transactional']);
  await on.alarms.check();
  expect(await on.alarmEvents()).toEqual([['alarm.raised', 'stream_complaint_rate', 'digest']]);
});

test('simulated test mode mail raises no alarm and does not affect live rates', async () => {
  await using on = await scene();
  await on.count('delivered', 1_000);
  await on.count('delivered', 500, 'test');
  await on.count('bounced', 500, 'test');
  await on.count('complained', 500, 'test');
  await on.alarms.check();
  expect(await on.alarmEvents()).toEqual([]);
  await on.count('bounced', 500);
  await on.count('complained', 500);
  await on.alarms.check();
  expect(await on.alarmEvents()).toEqual([
    ['alarm.raised', 'bounce_rate', 'a.example'],
    ['alarm.raised', 'complaint_rate', 'a.example'],
  ]);
});

test('mail that is queued for too long', async () => {
  await using on = await scene();
  const { pool, workspaceId, clock } = on;
  await enqueue(pool, [
    { workspaceId, nowMs: clock.now(), recipients: ['a@example.com'], dueAtMs: clock.now() },
  ]);
  clock.advance(14 * MINUTE_MS);
  await on.alarms.check();
  expect(await on.alarmEvents()).toEqual([]);
  clock.advance(2 * MINUTE_MS);
  await on.alarms.check();
  await on.alarms.check();
  expect(await on.alarmEvents()).toEqual([['alarm.raised', 'queue_age', null]]);
  await pool.query(`update deliveries set status = 'delivered', due_at = null`);
  await on.alarms.check();
  expect((await on.alarmEvents()).at(-1)).toEqual(['alarm.cleared', 'queue_age', null]);
});

test('a failing webhook endpoint', async () => {
  await using on = await scene();
  const { pool, workspaceId, clock } = on;
  await pool.query(
    `insert into webhooks (workspace_id, mode, id, url, events, description, enabled, since_tx,
       failing_since, created_at, updated_at)
     values ($1, 'test', $2, 'https://a.example/', '{*}', '', true, 0, $3, $3, $3)`,
    [workspaceId, uuidv7(clock.now()), new Date(clock.now())],
  );
  await on.alarms.check();
  expect(await on.alarmEvents()).toEqual([]);
  clock.advance(31 * MINUTE_MS);
  await on.alarms.check();
  expect(await on.alarmEvents()).toMatchObject([
    ['alarm.raised', 'webhook_failing', expect.stringMatching(/^whk_/)],
  ]);
  await pool.query('update webhooks set failing_since = null');
  await on.alarms.check();
  expect((await on.alarmEvents()).map(([type]) => type)).toEqual(['alarm.raised', 'alarm.cleared']);
});

async function newKey(
  { pool, workspaceId, clock }: Awaited<ReturnType<typeof scene>>,
  livesMs: number,
): Promise<string> {
  const id = uuidv7(clock.now());
  await pool.query(
    `insert into api_keys (workspace_id, id, mode, name, scopes, token_hint, created_by, created_at, expires_at)
     values ($1, $2, 'test', 'A key', '{}', '', 'cli', $3, $4)`,
    [workspaceId, id, new Date(clock.now()), new Date(clock.now() + livesMs)],
  );
  return encodeId('key', id);
}

test('an API key that is about to expire, until it has expired', async () => {
  await using on = await scene();
  const key = await newKey(on, 30 * DAY_MS);
  // Created for one hour: its expiry is expected.
  await newKey(on, 60 * MINUTE_MS);
  await on.alarms.check();
  on.clock.advance(22 * DAY_MS);
  await on.alarms.check();
  expect(await on.alarmEvents()).toEqual([]);
  on.clock.advance(2 * DAY_MS);
  await Promise.all([on.alarms.check(), on.alarms.check()]);
  on.clock.advance(DAY_MS);
  await on.alarms.check();
  const raised = ['alarm.raised', 'key_expiring', key];
  expect(await on.alarmEvents()).toEqual([raised]);
  await on.pool.query('update api_keys set revoked_at = $1', [new Date(on.clock.now())]);
  await on.alarms.check();
  expect(await on.alarmEvents()).toEqual([raised, ['alarm.cleared', 'key_expiring', key]]);
});

test('an API key whose expiry is extended', async () => {
  await using on = await scene();
  const key = await newKey(on, 10 * DAY_MS);
  on.clock.advance(4 * DAY_MS);
  await on.alarms.check();
  await on.pool.query(`update api_keys set expires_at = expires_at + interval '90 days'`);
  await on.alarms.check();
  expect(await on.alarmEvents()).toEqual([
    ['alarm.raised', 'key_expiring', key],
    ['alarm.cleared', 'key_expiring', key],
  ]);
});

async function newDomain({ pool, workspaceId, clock }: Awaited<ReturnType<typeof scene>>) {
  const checks = [{ absentSinceMs: clock.now() }, { absentSinceMs: null }, { absentSinceMs: 1 }];
  await pool.query(
    `insert into domains (workspace_id, id, name, status, ownership_token, return_path_host, tls,
       track_opens, track_clicks, checks, created_at)
     values ($1, $2, 'a.example', 'verified', 't', 'bounces.a.example', 'opportunistic', false, false, $3, $4)`,
    [workspaceId, uuidv7(clock.now()), JSON.stringify(checks), new Date(clock.now())],
  );
  return (status: string) => pool.query('update domains set status = $1', [status]);
}

test('a domain with missing records, until they are back', async () => {
  await using on = await scene();
  const become = await newDomain(on);
  await on.alarms.check();
  expect(await on.alarmEvents()).toEqual([]);
  await become('degraded');
  await on.alarms.check();
  // When it stops sending, that is still the same alarm.
  await become('failed');
  await on.alarms.check();
  const raised = ['alarm.raised', 'domain_degraded', 'a.example'];
  expect(await on.alarmEvents()).toEqual([raised]);
  const [event] = await eventsOf(on.pool, on.workspaceId);
  expect(event?.data).toMatchObject({ alarm: { value: 2, threshold: 1 } });
  await become('verified');
  await on.alarms.check();
  expect(await on.alarmEvents()).toEqual([
    raised,
    ['alarm.cleared', 'domain_degraded', 'a.example'],
  ]);
});

test('a threshold of 0 disables an alarm and ends a raised one', async () => {
  const off = {
    bounceRate: 0,
    complaintRate: 0,
    queueAgeMs: 0,
    webhookFailingMs: 0,
    keyExpiryMs: 0,
    domainRecords: 0,
  };
  await using on = await scene();
  await on.count('delivered', 100);
  await on.count('bounced', 100);
  await (await newDomain(on))('degraded');
  await on.alarms.check();
  expect(await on.alarmEvents()).toHaveLength(2);
  const { pool, clock } = on;
  const silent = new Alarms({
    pool,
    clock,
    thresholds: { ...off, windowMs: 60 * MINUTE_MS, recipientsMin: 100 },
  });
  await silent.check();
  await silent.check();
  expect((await on.alarmEvents()).slice(2).map(([type]) => type)).toEqual([
    'alarm.cleared',
    'alarm.cleared',
  ]);
});
