import { describe, expect, test } from 'vitest';
import type { Transport } from '../../../src/delivery/delivery.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import { ConcurrencyLimit } from '../../../src/queue/concurrency-limit.ts';
import { createTestDatabase } from '../../harness/database/database.ts';
import {
  deliveriesOf,
  enqueue,
  eventsOf,
  newWorkspace,
} from '../../harness/database/enqueue-messages.ts';
import { startEngine, until } from '../../harness/delivery/delivery-engine.ts';
import { startDeliveryNode } from '../../harness/delivery/delivery-node-process.ts';
import { startDnsServer } from '../../harness/smtp/dns-server.ts';
import { HANG_UP, startSmtpReceiver } from '../../harness/smtp/smtp-receiver.ts';

/**
 * A node that is killed, suspended, stopped or crashes neither loses nor duplicates a message, and never
 * overwrites a newer result of another node. Nodes are child processes that get real signals; arrivals
 * are counted at the receiver, not in the database.
 */

const DNS = {
  'example.org': { MX: ['10 mx.example.org'] },
  'mx.example.org': { A: ['127.0.0.1'], ttlSeconds: 60 },
};

/** Longer than any test: only a takeover ends a lease. */
const HOUR_MS = 3_600_000;

/** A promise that is resolved from outside. */
function latch() {
  let open = () => {};
  const opened = new Promise<undefined>((resolve) => {
    open = () => resolve(undefined);
  });
  return { open, opened };
}

describe('another node takes over', () => {
  test('a worker killed during DATA: delivered once by another within seconds', async () => {
    await using database = await createTestDatabase();
    await using dns = await startDnsServer(DNS);
    const never = latch();
    await using receiver = await startSmtpReceiver({ onData: () => never.opened });
    const { pool } = database;
    const nowMs = systemClock.now();
    const workspaceId = await newWorkspace(pool, nowMs);
    const [id] = (await enqueue(pool, [
      { workspaceId, nowMs, recipients: ['jane@example.org'] },
    ])) as [string];
    const options = {
      url: database.url,
      dns: dns.address,
      mxPort: receiver.port,
      leaseMs: HOUR_MS,
    };
    await using first = await startDeliveryNode(options);
    await receiver.untilCommand('DATA');
    await first.kill();
    receiver.script.onData = () => undefined;
    await using _second = await startDeliveryNode({ ...options, nodeName: 'second' });
    await until(async () => (await deliveriesOf(pool, id))[0]?.status === 'delivered');
    expect(receiver.messages).toHaveLength(1);
    expect((await eventsOf(pool, workspaceId)).map((event) => event.type)).toEqual([
      'message.delivered',
    ]);
  });

  test('a worker suspended during an attempt cannot write its stale result', async () => {
    await using database = await createTestDatabase();
    await using dns = await startDnsServer(DNS);
    const held = latch();
    let requests = 0;
    // The suspended worker would record a bounce; the other one delivers.
    await using receiver = await startSmtpReceiver({
      keywords: [],
      onRcpt: async () => {
        requests += 1;
        if (requests > 1) return undefined;
        await held.opened;
        return '550 5.1.1 No such user';
      },
    });
    const { pool } = database;
    const nowMs = systemClock.now();
    const workspaceId = await newWorkspace(pool, nowMs);
    const [id] = (await enqueue(pool, [
      { workspaceId, nowMs, recipients: ['jane@example.org'] },
    ])) as [string];
    const options = {
      url: database.url,
      dns: dns.address,
      mxPort: receiver.port,
      leaseMs: HOUR_MS,
    };
    await using frozen = await startDeliveryNode(options);
    await receiver.untilCommand('RCPT');
    frozen.suspend();
    await using _other = await startDeliveryNode({ ...options, nodeName: 'other' });
    await until(async () => (await deliveriesOf(pool, id))[0]?.status === 'delivered');
    held.open();
    frozen.resume();
    await frozen.terminate();
    expect((await deliveriesOf(pool, id))[0]).toMatchObject({ status: 'delivered', attempts: 1 });
    expect((await eventsOf(pool, workspaceId)).map((event) => event.type)).toEqual([
      'message.delivered',
    ]);
    const attempts = await pool.query('select node from attempts');
    expect(attempts.rows).toEqual([{ node: 'other' }]);
    expect((await pool.query('select from suppressions')).rowCount).toBe(0);
  });

  test('a worker suspended before DATA sends nothing when it resumes, and works again', async () => {
    await using database = await createTestDatabase();
    await using dns = await startDnsServer(DNS);
    const held = latch();
    let requests = 0;
    await using receiver = await startSmtpReceiver({
      onRcpt: async () => {
        requests += 1;
        if (requests === 1) await held.opened;
        return undefined;
      },
    });
    const { pool } = database;
    const nowMs = systemClock.now();
    const workspaceId = await newWorkspace(pool, nowMs);
    const [id] = (await enqueue(pool, [
      { workspaceId, nowMs, recipients: ['jane@example.org'] },
    ])) as [string];
    const options = {
      url: database.url,
      dns: dns.address,
      mxPort: receiver.port,
      leaseMs: HOUR_MS,
    };
    await using frozen = await startDeliveryNode({ ...options, nodeName: 'frozen' });
    await receiver.untilCommand('RCPT');
    frozen.suspend();
    await using other = await startDeliveryNode({ ...options, nodeName: 'other' });
    await until(async () => (await deliveriesOf(pool, id))[0]?.status === 'delivered');
    frozen.resume();
    const holders = async () => {
      const { rows } = await pool.query<{ name: string }>(
        'select name from lease_holders where heartbeats > 0 order by name',
      );
      return rows.map(({ name }) => name).join();
    };
    // The old connection is answered only when the node is alive again under another id.
    await until(async () => (await holders()) === 'frozen,other');
    held.open();
    const [stale] = receiver.sessions;
    await receiver.until(() => stale?.closed === true);
    expect(receiver.messages).toHaveLength(1);

    await other.terminate();
    expect(await holders()).toBe('frozen');
    const [next] = (await enqueue(pool, [
      { workspaceId, nowMs: systemClock.now(), recipients: ['joe@example.org'] },
    ])) as [string];
    await until(async () => (await deliveriesOf(pool, next))[0]?.status === 'delivered');
    const attempts = await pool.query('select node, number from attempts order by started_at');
    expect(attempts.rows).toEqual([
      { node: 'other', number: 1 },
      { node: 'frozen', number: 1 },
    ]);
  });

  test('rolling restarts of two nodes: every message is delivered once', async () => {
    await using database = await createTestDatabase();
    await using dns = await startDnsServer(DNS);
    await using receiver = await startSmtpReceiver();
    const { pool } = database;
    const nowMs = systemClock.now();
    const workspaceId = await newWorkspace(pool, nowMs);
    const count = 3_000;
    await enqueue(
      pool,
      Array.from({ length: count }, (_, n) => ({
        workspaceId,
        nowMs,
        recipients: [`u${n}@example.org`],
      })),
    );
    const options = { url: database.url, dns: dns.address, mxPort: receiver.port, leaseMs: 30_000 };
    await using one = await startDeliveryNode(options);
    await using two = await startDeliveryNode(options);
    await receiver.untilMessages(300);
    await one.terminate();
    await using three = await startDeliveryNode(options);
    await receiver.untilMessages(900);
    await two.terminate();
    await receiver.untilMessages(1_500);
    await three.terminate();
    await using _four = await startDeliveryNode(options);
    await receiver.untilMessages(count);
    const left = `select count(*)::int as n from deliveries where status <> 'delivered'`;
    await until(async () => (await pool.query<{ n: number }>(left)).rows[0]?.n === 0);
    const arrived = receiver.messages.flatMap((mail) => mail.recipients);
    expect(arrived).toHaveLength(count);
    expect(new Set(arrived).size).toBe(count);
    expect(receiver.violations).toEqual([]);
  }, 120_000);
});

describe('shutdown', () => {
  test('finishes deliveries in progress and releases the others immediately', async () => {
    await using database = await createTestDatabase();
    const { pool } = database;
    const clock = systemClock;
    const workspaceId = await newWorkspace(pool, clock.now());
    const ids = await enqueue(
      pool,
      Array.from({ length: 50 }, (_, n) => ({
        workspaceId,
        nowMs: clock.now(),
        recipients: [`u${n}@example.org`],
      })),
    );
    const held = latch();
    const limit = new ConcurrencyLimit(5);
    let begun = 0;
    const route: Transport = {
      needsContent: true,
      limitFor: () => limit,
      attempt: async (_message, deliveries) => {
        begun += 1;
        await held.opened;
        return deliveries.map(() => accepted(clock.now()));
      },
      abort: () => {},
      close: async () => {},
    };
    await using node = startEngine({ url: database.url, clock, live: route });
    await until(() => begun === 5 && node.engine.stats.ready === 45);
    const stopped = node.engine.stop();
    const free = `select count(*)::int as n from deliveries where lease is null and status = 'queued'`;
    await until(async () => (await pool.query<{ n: number }>(free)).rows[0]?.n === 45);
    held.open();
    await stopped;
    const states = await Promise.all(ids.map((id) => deliveriesOf(pool, id)));
    const statuses = states.flat().map((state) => state.status);
    expect(statuses.filter((status) => status === 'delivered')).toHaveLength(5);
    expect(node.engine.reserveCapacity(1, 1)).toBeUndefined();
  });

  test('that takes too long closes the connection, and unfinished deliveries are due immediately', async () => {
    await using database = await createTestDatabase();
    await using dns = await startDnsServer(DNS);
    const never = latch();
    await using receiver = await startSmtpReceiver({ onData: () => never.opened });
    const { pool } = database;
    const nowMs = systemClock.now();
    const workspaceId = await newWorkspace(pool, nowMs);
    const [id] = (await enqueue(pool, [
      { workspaceId, nowMs, recipients: ['jane@example.org'] },
    ])) as [string];
    const { signedLiveRoute: liveRoute } = await import(
      '../../harness/delivery/signed-live-route.ts'
    );
    const live = liveRoute({ clock: systemClock, dns: dns.address, mxPort: receiver.port });
    await using node = startEngine({ url: database.url, clock: systemClock, live });
    await receiver.untilCommand('DATA');
    await node.engine.stop(50);
    const [delivery] = await deliveriesOf(pool, id);
    expect(delivery).toMatchObject({ status: 'queued', lease: null, attempts: 0 });
  });
});

describe('a message that crashes its worker', () => {
  test('fails after five crashed attempts, and other messages are delivered', async () => {
    await using database = await createTestDatabase();
    const { pool } = database;
    const clock = new ManualClock(systemClock.now());
    const workspaceId = await newWorkspace(pool, clock.now());
    const nowMs = clock.now();
    const [poison, good] = (await enqueue(pool, [
      { workspaceId, nowMs, recipients: ['poison@example.org'] },
      { workspaceId, nowMs, recipients: ['good@example.org'] },
    ])) as [string, string];
    let attemptCount = 0;
    const limit = new ConcurrencyLimit(5);
    const route: Transport = {
      needsContent: true,
      limitFor: () => limit,
      attempt: async (_message, deliveries) => {
        if (deliveries[0]?.recipient.startsWith('poison')) {
          attemptCount += 1;
          throw new Error('a bug');
        }
        return deliveries.map(() => accepted(clock.now()));
      },
      abort: () => {},
      close: async () => {},
    };
    await using _node = startEngine({ url: database.url, clock, live: route });
    await until(async () => (await deliveriesOf(pool, poison))[0]?.finished_at !== null, {
      clock,
      stepMs: 2_000,
    });
    expect((await deliveriesOf(pool, poison))[0]).toMatchObject({
      status: 'failed',
      reason: 'internal_error',
    });
    expect(attemptCount).toBe(6);
    expect((await deliveriesOf(pool, good))[0]?.status).toBe('delivered');
    const failed = (await eventsOf(pool, workspaceId)).filter(
      (event) => event.type === 'message.failed',
    );
    expect(failed).toHaveLength(1);
  });

  test('a delivery that was only queued on a crashed node is not counted as a crash', async () => {
    await using database = await createTestDatabase();
    const { pool } = database;
    const clock = new ManualClock(systemClock.now());
    const workspaceId = await newWorkspace(pool, clock.now());
    const [id] = (await enqueue(pool, [
      { workspaceId, nowMs: clock.now(), recipients: ['good@example.org'] },
    ])) as [string];
    // Ten nodes crashed while the delivery was waiting in their queues.
    for (let n = 0; n < 10; n++) {
      await using node = startEngine({ url: database.url, clock, live: closedRoute() });
      await until(() => node.engine.stats.ready === 1, { clock, stepMs: 1_000 });
      // Ends without releasing its leases, as a kill would.
      await node.engine.withdraw(workspaceId, 'live', id);
      clock.advance(130_000);
    }
    const open: Transport = { ...closedRoute(), limitFor: () => new ConcurrencyLimit(1) };
    await using _node = startEngine({ url: database.url, clock, live: open });
    await until(async () => (await deliveriesOf(pool, id))[0]?.finished_at !== null, { clock });
    expect((await deliveriesOf(pool, id))[0]?.status).toBe('delivered');
  });
});

test('when a receiver disconnects, only the message in progress is affected', async () => {
  await using database = await createTestDatabase();
  await using dns = await startDnsServer(DNS);
  let messages = 0;
  await using receiver = await startSmtpReceiver({
    onMail: () => (++messages % 7 === 0 ? HANG_UP : undefined),
  });
  const { pool } = database;
  const nowMs = systemClock.now();
  const workspaceId = await newWorkspace(pool, nowMs);
  const count = 200;
  await enqueue(
    pool,
    Array.from({ length: count }, (_, n) => ({
      workspaceId,
      nowMs,
      recipients: [`u${n}@example.org`],
    })),
  );
  const clock = new ManualClock(nowMs);
  const { signedLiveRoute: liveRoute } = await import(
    '../../harness/delivery/signed-live-route.ts'
  );
  const live = liveRoute({ clock, dns: dns.address, mxPort: receiver.port });
  await using _node = startEngine({ url: database.url, clock, live });
  const left = `select count(*)::int as n from deliveries where status <> 'delivered'`;
  await until(async () => (await pool.query<{ n: number }>(left)).rows[0]?.n === 0, {
    clock,
    stepMs: 500,
  });
  const arrived = receiver.messages.flatMap((mail) => mail.recipients);
  expect(arrived).toHaveLength(count);
  expect(new Set(arrived).size).toBe(count);
});

function closedRoute(): Transport {
  const limit = new ConcurrencyLimit(0);
  return {
    needsContent: false,
    limitFor: () => limit,
    attempt: async (_message, deliveries) => deliveries.map(() => accepted(0)),
    abort: () => {},
    close: async () => {},
  };
}

function accepted(nowMs: number) {
  return {
    end: { kind: 'accepted' as const, reply: { code: 250, enhanced: null, text: 'OK' } },
    startedAtMs: nowMs,
    finishedAtMs: nowMs,
    smtp: { code: 250, enhanced: null, text: 'OK', mx: 'mx.example.com', ip: null, tls: null },
    transcript: null,
  };
}
