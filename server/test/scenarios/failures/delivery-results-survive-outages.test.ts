import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openPool, type Pool } from '../../../src/db/connections/pool.ts';
import type { SenderDomains } from '../../../src/delivery/transport/outgoing-mail.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import { createTestDatabase } from '../../harness/database/database.ts';
import { startDatabaseProxy } from '../../harness/database/database-proxy.ts';
import { enqueue, newWorkspace } from '../../harness/database/enqueue-messages.ts';
import { startEngine, until } from '../../harness/delivery/delivery-engine.ts';
import { unsignedSenders } from '../../harness/delivery/live-route.ts';
import { signedLiveRoute } from '../../harness/delivery/signed-live-route.ts';
import { startDnsServer } from '../../harness/smtp/dns-server.ts';
import { startSmtpReceiver } from '../../harness/smtp/smtp-receiver.ts';

/**
 * During a database outage no more is sent than results can be kept for, and afterwards every result is
 * written once and every message has arrived once. The connections to a real database are cut during
 * delivery; the receiver's list is compared with the queue.
 */

const DNS = {
  'example.org': { MX: ['10 mx.example.org'] },
  'mx.example.org': { A: ['127.0.0.1'], ttlSeconds: 60 },
};

/** A queue of messages, a database behind a proxy, and a receiver. */
async function setUp(
  count: number,
  sendersOf: (url: string) => SenderDomains = () => unsignedSenders,
) {
  await using parts = new AsyncDisposableStack();
  const database = parts.use(await createTestDatabase());
  const way = parts.use(await startDatabaseProxy(database.url));
  const dns = parts.use(await startDnsServer(DNS));
  const receiver = parts.use(await startSmtpReceiver());
  const clock = new ManualClock(systemClock.now());
  const workspaceId = await newWorkspace(database.pool, clock.now());
  await enqueue(
    database.pool,
    Array.from({ length: count }, (_, n) => ({
      workspaceId,
      nowMs: clock.now(),
      recipients: [`u${n}@example.org`],
    })),
  );
  const live = signedLiveRoute({
    clock,
    dns: dns.address,
    mxPort: receiver.port,
    senders: sendersOf(way.url),
  });
  const standing = parts.move();
  return {
    database,
    way,
    receiver,
    clock,
    live,
    pool: database.pool,
    allDelivered: () =>
      until(async () => (await counts(database.pool))?.deliveries === count, {
        clock,
        stepMs: 250,
      }),
    [Symbol.asyncDispose]: () => standing.disposeAsync(),
  };
}

async function counts(pool: Awaited<ReturnType<typeof createTestDatabase>>['pool']) {
  const { rows } = await pool.query<{ deliveries: number; attempts: number; events: number }>(
    `select (select count(*)::int from deliveries where status = 'delivered') as deliveries,
            (select count(*)::int from attempts) as attempts,
            (select count(*)::int from events where type = 'message.delivered') as events`,
  );
  return rows[0];
}

test('a 60-second outage: nothing lost, nothing duplicated', async () => {
  const count = 1_500;
  await using setup = await setUp(count);
  const { database, way, clock, receiver, live } = setup;
  const limits = { unrecordedMax: 200, inFlightMax: 100 };
  await using node = startEngine({ url: way.url, clock, live, limits });
  await until(() => receiver.messages.length >= 300, { clock, stepMs: 20 });
  await way.disconnect();
  const atCut = receiver.messages.length;
  const startedMs = clock.now();
  await until(() => clock.now() - startedMs > 60_000, { clock, stepMs: 250 });
  // Deliveries in progress were finished, and then it waited.
  expect(receiver.messages.length - atCut).toBeLessThanOrEqual(300);
  expect(node.engine.stats.unrecorded).toBeGreaterThan(0);
  // It accepts no handoffs either: other nodes may deliver those messages.
  expect(node.engine.reserveCapacity(1, 1)).toBeUndefined();
  await way.reconnect();
  await setup.allDelivered();
  const arrived = receiver.messages.flatMap((mail) => mail.recipients);
  expect(arrived).toHaveLength(count);
  expect(new Set(arrived).size).toBe(count);
  expect(await counts(database.pool)).toEqual({
    deliveries: count,
    attempts: count,
    events: count,
  });
});

test('an outage longer than a lease: finished deliveries are recorded and not repeated', async () => {
  const count = 300;
  await using setup = await setUp(count);
  const { way, clock, receiver, live } = setup;
  await using node = startEngine({ url: way.url, clock, live, limits: { inFlightMax: 50 } });
  await until(() => receiver.messages.length >= 50, { clock, stepMs: 20 });
  await way.disconnect();
  const startedMs = clock.now();
  await until(() => clock.now() - startedMs > 150_000, { clock, stepMs: 500 });
  await way.reconnect();
  // Claims resume two seconds later by this clock, which must not run ahead of the writes.
  await until(() => node.engine.stats.unrecorded === 0, { clock, stepMs: 10 });
  await setup.allDelivered();
  const arrived = receiver.messages.flatMap((mail) => mail.recipients);
  expect(arrived).toHaveLength(count);
  expect(new Set(arrived).size).toBe(count);
});

test('a database that rejects connections for a while: no result is dropped, so nothing is sent twice', async () => {
  const count = 1_500;
  await using setup = await setUp(count);
  const { database, clock, receiver, live } = setup;
  await using node = startEngine({ url: database.url, clock, live, limits: { inFlightMax: 50 } });
  await until(() => receiver.messages.length >= 50, { clock, stepMs: 20 });
  await database.allowConnections(false);
  const startedMs = clock.now();
  await until(() => clock.now() - startedMs > 30_000, { clock, stepMs: 250 });
  expect(node.engine.stats.unrecorded).toBeGreaterThan(0);
  await database.allowConnections(true);
  await setup.allDelivered();
  expect(receiver.messages).toHaveLength(count);
});

test('a response lost after the commit: the result is written once', async () => {
  const count = 20;
  await using setup = await setUp(count);
  const { database, way, clock, receiver, live } = setup;
  const holder = await database.pool.connect();
  await holder.query('begin; lock table attempts in share mode');
  await using node = startEngine({ url: way.url, clock, live });
  const waiting = async () =>
    (
      await database.pool.query<{ n: number }>(
        `select count(*)::int as n from pg_locks l join pg_database d on d.oid = l.database
          where d.datname = current_database() and not l.granted`,
      )
    ).rows[0]?.n;
  await until(async () => receiver.messages.length === count && (await waiting()) === 1, {
    clock,
    stepMs: 20,
  });
  way.dropResponses();
  await holder.query('commit');
  holder.release();
  // Some of them are committed, and this node does not know it.
  await until(async () => (await counts(database.pool))?.attempts !== 0, { clock, stepMs: 20 });
  expect(node.engine.stats.delivered).toBe(0);
  await way.disconnect();
  await way.reconnect();
  await until(() => node.engine.stats.unrecorded === 0, { clock, stepMs: 250 });
  expect(node.engine.stats).toMatchObject({ delivered: count, leasesLost: 0 });
  expect(await counts(database.pool)).toEqual({
    deliveries: count,
    attempts: count,
    events: count,
  });
});

test('a lease that expired before the result was written: the message is not sent again', async () => {
  const count = 20;
  await using setup = await setUp(count);
  const { database, pool, clock, receiver, live } = setup;
  const replies = Promise.withResolvers<undefined>();
  receiver.script = {
    onMessage: ({ recipients }) =>
      recipients[0] === `u${count - 1}@example.org` ? replies.promise : undefined,
  };
  // The outcomes are known, and cannot be written.
  const blocker = await pool.connect();
  await blocker.query('begin; lock table attempts in share mode');
  await using node = startEngine({ url: database.url, clock, live });
  const { stats } = node.engine;
  await until(() => stats.unrecorded === count - 1 && receiver.messages.length === count, {
    clock,
    stepMs: 20,
  });
  // As after an outage in which no lease could be renewed.
  await pool.query(`update deliveries set due_at = created_at from messages
                     where messages.id = message_id`);
  await until(() => stats.claimed === 2 * count, { clock, stepMs: 500 });
  replies.resolve(undefined);
  await until(() => stats.unrecorded >= count, { clock, stepMs: 20 });
  await blocker.query('commit');
  blocker.release();
  await setup.allDelivered();
  await until(() => stats.unrecorded === 0, { clock, stepMs: 20 });
  expect(receiver.messages).toHaveLength(count);
  expect(stats).toMatchObject({ delivered: count, leasesLost: 0 });
  expect(await counts(pool)).toEqual({ deliveries: count, attempts: count, events: count });
});

test('a result that is refused while this node claims the row again is written under the new lease', async () => {
  await using setup = await setUp(1);
  const { database, pool, clock, receiver, live } = setup;
  const blocker = await pool.connect();
  await blocker.query('begin; lock table attempts in share mode');
  const claimReturns = Promise.withResolvers<void>();
  const refused = Promise.withResolvers<void>();
  let claims = 0;
  await using node = startEngine({
    url: database.url,
    clock,
    live,
    changeStore: (store) => ({
      ...store,
      async claim(request) {
        const rows = await store.claim(request);
        claims += rows.length;
        if (claims === 2) await claimReturns.promise;
        return rows;
      },
      async record(outcomes) {
        const written = await store.record(outcomes);
        if (written.includes(false)) refused.resolve();
        return written;
      },
    }),
  });
  const { stats } = node.engine;
  await until(() => stats.unrecorded === 1, { clock, stepMs: 20 });
  await pool.query(`update deliveries set due_at = created_at from messages
                     where messages.id = message_id`);
  await until(() => claims === 2, { clock, stepMs: 500 });
  await blocker.query('commit');
  blocker.release();
  await refused.promise;
  await nextTurn();
  claimReturns.resolve();
  await setup.allDelivered();
  await until(() => stats.unrecorded === 0, { clock, stepMs: 20 });
  expect(receiver.messages).toHaveLength(1);
  expect(stats).toMatchObject({ delivered: 1, leasesLost: 0 });
});

test('an outage during a domain lookup is not counted as an attempt, and the message is sent afterwards', async () => {
  let lookUps = 0;
  let keys: Pool | undefined;
  await using setup = await setUp(3, (url) => ({
    async settingsFor(...domain) {
      lookUps += 1;
      keys ??= openPool({ hosts: [{ connectionString: url }], log: silentLog });
      await keys.query('select');
      return unsignedSenders.settingsFor(...domain);
    },
    keysFor: unsignedSenders.keysFor,
  }));
  const { database, way, clock, live } = setup;
  await way.disconnect();
  await using node = startEngine({ url: database.url, clock, live });
  await until(() => lookUps > 6, { clock, stepMs: 50 });
  expect(await counts(database.pool)).toEqual({ deliveries: 0, attempts: 0, events: 0 });
  await way.reconnect();
  await until(async () => (await counts(database.pool))?.deliveries === 3, { clock, stepMs: 50 });
  expect(node.engine.stats).toMatchObject({ deferred: 0, errors: 0 });
  expect(await counts(database.pool)).toEqual({ deliveries: 3, attempts: 3, events: 3 });
  await keys?.end();
});

test('disk full: results wait until there is space again', async () => {
  const count = 100;
  await using setup = await setUp(count);
  const { database, pool, clock, receiver, live } = setup;
  await pool.query(`
    create table disk (full_now boolean);
    insert into disk values (true);
    create function full_disk() returns trigger language plpgsql as $$
    begin
      if (select full_now from disk) then
        raise exception 'could not extend file: No space left on device' using errcode = 'disk_full';
      end if;
      return new;
    end $$;
    create trigger full_disk before insert on attempts for each row execute function full_disk()`);
  const limits = { unrecordedMax: 20, inFlightMax: 10 };
  await using node = startEngine({ url: database.url, clock, live, limits });
  await until(() => receiver.messages.length > 0 && node.engine.stats.inFlight === 0, {
    clock,
    stepMs: 50,
  });
  expect(receiver.messages.length).toBeLessThanOrEqual(30);
  await pool.query('update disk set full_now = false');
  await until(async () => (await counts(pool))?.deliveries === count, { clock, stepMs: 100 });
  expect(new Set(receiver.messages.flatMap((mail) => mail.recipients)).size).toBe(count);
  expect(receiver.messages).toHaveLength(count);
});

test('a result with text that the database cannot store is written without it', async () => {
  await using setup = await setUp(3);
  const { database, pool, clock, receiver, live } = setup;
  // Only one row is invalid: the others in the same commit must not be affected.
  await pool.query(`
    create function no_transcript() returns trigger language plpgsql as $$
    begin
      if new.transcript is not null and new.transcript::text like '%u1@example.org%' then
        raise exception 'unsupported Unicode escape sequence' using errcode = '22P05';
      end if;
      return new;
    end $$;
    create trigger no_transcript before insert on attempts for each row
      execute function no_transcript()`);
  await using _node = startEngine({ url: database.url, clock, live });
  await until(async () => (await counts(pool))?.deliveries === 3, { clock, stepMs: 100 });
  const { rows } = await pool.query('select from attempts where transcript is null');
  expect(rows).toHaveLength(1);
  expect(receiver.messages).toHaveLength(3);
});
