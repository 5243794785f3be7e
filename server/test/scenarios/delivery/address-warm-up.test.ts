import { expect, test } from 'vitest';
import { WarmUp } from '../../../src/delivery/warm-up/warm-up.ts';
import { DAY_MS, startOfDay } from '../../../src/delivery/warm-up/warm-up-plan.ts';
import { listWarmUps, warmUpMemory } from '../../../src/delivery/warm-up/warm-up-store.ts';
import { WarmingTransport } from '../../../src/delivery/warm-up/warming-transport.ts';
import { silentLog } from '../../../src/lib/log.ts';
import type { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import { startApp, validMessage } from '../../harness/app.ts';
import { databaseEnv, runPostrider } from '../../harness/cli-process.ts';
import { createTestDatabase, type TestDatabase } from '../../harness/database/database.ts';
import { deliveriesOf } from '../../harness/database/enqueue-messages.ts';
import { startEngine } from '../../harness/delivery/delivery-engine.ts';
import {
  type DeliverySetup,
  type DeliverySetupOptions,
  setUpDelivery,
} from '../../harness/delivery/delivery-setup.ts';
import {
  type SignedRouteOptions,
  signedLiveRoute,
} from '../../harness/delivery/signed-live-route.ts';
import { createServerProcess } from '../../harness/server-process.ts';
import { startDnsServer } from '../../harness/smtp/dns-server.ts';
import { complaint, dsn, startReturnPathServer } from '../../harness/smtp/return-path-setup.ts';
import { type SmtpReceiver, startSmtpReceiver } from '../../harness/smtp/smtp-receiver.ts';
import { createTempDir } from '../../harness/temp-dir.ts';
import { until } from '../../harness/until.ts';

/**
 * A new sending address gets only as much mail as its warm-up allows: the rest is sent from another
 * address, or waits for the next day.
 */

const NEW = '127.0.0.9';
const WARM = '127.0.0.8';
const SHAPING = { receivers: [{ name: 'Google', mx: ['mx1.example.test'] }] };

interface Options extends DeliverySetupOptions {
  overflow?: boolean;
  /** The first day, from today. */
  startsInDays?: number;
  /** The new address has used its cap, and Google has paused it for ten minutes. */
  throttled?: boolean;
}

/** A node whose mail goes from the new address or, as overflow, from the warm one. */
function warmingLive(
  options: SignedRouteOptions,
  { pool }: TestDatabase,
  { overflow = true, startsInDays = 0, throttled = false }: Options,
): WarmingTransport {
  const { clock } = options;
  const from = (ipv4: string) => ({ ...options, outgoing: { ipv4, ipv6: undefined } });
  const warmUp = new WarmUp({
    sender: NEW,
    startsAtMs: startOfDay(clock.now()) + startsInDays * DAY_MS,
    startDay: 1,
    memory: warmUpMemory(pool, NEW),
    clock,
    log: silentLog,
  });
  if (throttled) void warmUp.admit('Google', 50);
  const pause = { receiver: 'Google', level: 7, pausedUntilMs: clock.now() + 600_000 };
  const throttles = { load: async () => (throttled ? [pause] : []), save: () => {} };
  const warm = overflow ? signedLiveRoute(from(WARM)) : undefined;
  return new WarmingTransport({
    own: signedLiveRoute({ ...from(NEW), warmUp, throttles }),
    overflow: warm && { transport: warm, route: null },
    warmUp,
  });
}

/** Starts at noon of the next day, so that no test crosses midnight unless it wants to. */
async function setUp(options: Options = {}): Promise<DeliverySetup> {
  return setUpDelivery({
    shaping: SHAPING,
    ...options,
    createLive: (route, database) => {
      const clock = route.clock as ManualClock;
      clock.advance(startOfDay(clock.now()) + 1.5 * DAY_MS - clock.now());
      return warmingLive(route, database, options);
    },
  });
}

/** Messages that were begun from each address. */
function arrivals({ sessions }: SmtpReceiver): Record<string, number> {
  const counts: Record<string, number> = { [NEW]: 0, [WARM]: 0 };
  for (const { from = '', commands } of sessions) {
    const begun = commands.filter((command) => command.startsWith('MAIL')).length;
    counts[from] = (counts[from] ?? 0) + begun;
  }
  return counts;
}

async function sendMany(setup: DeliverySetup, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n++) ids.push(await setup.send({ recipients: [`u${n}@example.org`] }));
  return ids;
}

async function sendAndDeliver(setup: DeliverySetup, count: number): Promise<string[]> {
  const ids = await sendMany(setup, count);
  for (const id of ids) await setup.waitForStatus(id, 'delivered', 100);
  return ids;
}

/** Continues at noon, after everything that waited for midnight has become due. */
function nextDay({ clock }: DeliverySetup): void {
  clock.advance(startOfDay(clock.now()) + 1.5 * DAY_MS - clock.now());
}

const stored = ({ database, clock }: DeliverySetup) =>
  listWarmUps(database.pool, { nowMs: clock.now(), sinceMs: 0 });

test('mail beyond the cap is sent from the other address, and the next day allows more', async () => {
  await using setup = await setUp();
  const ids = await sendAndDeliver(setup, 60);
  expect(arrivals(setup.receiver)).toEqual({ [NEW]: 50, [WARM]: 10 });
  const transcripts = await Promise.all(
    ids.map(async (id) => (await setup.attempts(id)).map(({ transcript }) => transcript).join()),
  );
  const overflowed = transcripts.filter((text) =>
    text.startsWith(
      `note: (sent by the standard route: the warm-up of ${NEW} allows 50 messages to Google today)`,
    ),
  );
  expect(overflowed).toHaveLength(10);
  for (const text of transcripts) {
    expect(text).toContain(overflowed.includes(text) ? `from ${WARM}` : `from ${NEW}`);
  }
  await setup.until(async () => (await stored(setup))[0]?.overflowed === 10, 100);

  nextDay(setup);
  await sendAndDeliver(setup, 100);
  expect(arrivals(setup.receiver)).toEqual({ [NEW]: 125, [WARM]: 35 });
  expect(await stored(setup)).toMatchObject([{ provider: 'Google', planDay: 2, leased: 75 }]);
});

test('a provider that objects gets no more on the next day', async () => {
  await using setup = await setUp();
  await sendAndDeliver(setup, 30);
  let objects = true;
  setup.receiver.script.onMessage = () => {
    if (!objects) return undefined;
    objects = false;
    return '451 4.7.650 The mail server has been temporarily rate limited due to IP reputation';
  };
  await sendAndDeliver(setup, 40);
  await setup.until(async () => (await stored(setup))[0]?.refused === 1, 100);
  nextDay(setup);
  await sendAndDeliver(setup, 60);
  expect(await stored(setup)).toMatchObject([{ planDay: 1, leased: 50, refused: 0 }]);
});

test('while the new address is throttled, mail beyond the cap still moves', async () => {
  await using setup = await setUp({ throttled: true });
  await setup.until(async () => (await stored(setup))[0]?.leased === 50, 10);
  await setup.until(() => setup.node.engine.stats.throttled === 1, 10);
  const startMs = setup.clock.now();
  await sendAndDeliver(setup, 20);
  expect(setup.clock.now() - startMs).toBeLessThan(300_000);
  expect(arrivals(setup.receiver)).toEqual({ [NEW]: 0, [WARM]: 20 });
});

test('without another route it waits without attempts, holds up no other mail, and is sent the next day', async () => {
  await using setup = await setUp({
    overflow: false,
    dns: {
      'other.test': { MX: ['10 mx.other.test'] },
      'mx.other.test': { A: ['127.0.0.1'] },
    },
  });
  const ids = await sendMany(setup, 55);
  const states = () => Promise.all(ids.map((id) => deliveriesOf(setup.database.pool, id)));
  await setup.until(
    async () => (await states()).flat().every(({ status }) => /delivered|deferred/.test(status)),
    100,
  );
  const held = (await states()).flat().filter(({ status }) => status === 'deferred');
  expect(held).toHaveLength(5);
  const midnight = startOfDay(setup.clock.now()) + DAY_MS;
  for (const { due_at, attempts } of held) {
    expect(due_at).toBeGreaterThanOrEqual(midnight);
    expect(due_at).toBeLessThan(midnight + 3_600_000);
    expect(attempts).toBe(0);
  }
  const { rows } = await setup.database.pool.query(
    `select bounce from deliveries where status = 'deferred'`,
  );
  for (const { bounce } of rows) {
    expect(bounce).toMatchObject({
      reason: 'rate_limited',
      explanation: expect.stringContaining('only 50 messages a day to Google for now'),
    });
  }
  const events = (await setup.events()).filter(({ type }) => type === 'message.deferred');
  expect(events).toHaveLength(5);
  expect(events[0]?.data).toMatchObject({ attempt: 0, bounce: { reason: 'rate_limited' } });
  const elsewhere = await setup.send({ recipients: ['jane@other.test'] });
  await setup.waitForStatus(elsewhere, 'delivered', 100);

  nextDay(setup);
  for (const id of ids) await setup.waitForStatus(id, 'delivered', 100);
  for (const id of ids) expect(await setup.attempts(id)).toHaveLength(1);
});

test('mail that waits is not given up before its retry window ends', async () => {
  await using setup = await setUp({ overflow: false, startsInDays: 10 });
  const startMs = setup.clock.now();
  const id = await setup.send();
  expect(await setup.waitForFinalStatus(id)).toMatchObject({ status: 'expired', attempts: 0 });
  expect(setup.clock.now() - startMs).toBeGreaterThanOrEqual(3 * DAY_MS);
  expect(setup.receiver.sessions).toHaveLength(0);
});

test('two nodes and a restarted one never exceed the cap together', async () => {
  await using setup = await setUp();
  const { clock, dns, receiver, database } = setup;
  const route = { clock, dns: dns.address, mxPort: receiver.port, shaping: SHAPING };
  const newNode = (nodeName: string) =>
    startEngine({ url: database.url, clock, live: warmingLive(route, database, {}), nodeName });
  {
    await using second = newNode('node-2');
    const ids = await sendMany(setup, 30);
    second.engine.wake();
    for (const id of ids) await setup.waitForStatus(id, 'delivered', 100);
  }
  await using third = newNode('node-3');
  const ids = await sendMany(setup, 50);
  third.engine.wake();
  for (const id of ids) await setup.waitForStatus(id, 'delivered', 100);
  expect(arrivals(receiver)).toEqual({ [NEW]: 50, [WARM]: 30 });
});

test('a message with more recipients than are left is divided', async () => {
  await using setup = await setUp();
  const recipients = Array.from({ length: 60 }, (_, n) => `u${n}@example.org`);
  const id = await setup.send({ recipients });
  await setup.waitForStatus(id, 'delivered', 100);
  const byAddress = { [NEW]: 0, [WARM]: 0 };
  for (const { from, commands } of setup.receiver.sessions)
    byAddress[from as typeof NEW] += commands.filter((one) => one.startsWith('RCPT')).length;
  expect(byAddress).toEqual({ [NEW]: 50, [WARM]: 10 });
});

test('bounces and complaints that arrive later count like refusals, once', async () => {
  const today = new Date().toISOString().slice(0, 10);
  const STREAM_ROUTES = `bulk=direct?address=${NEW}&warmup=${today}&day=12`;
  await using server = await startReturnPathServer({ env: { STREAM_ROUTES } });
  const { app, database } = server;
  const key = app.liveKey;
  const body = { key: 'digest', purpose: 'transactional', route: 'bulk' };
  expect((await app.call('POST', '/streams', { key, body })).status).toBe(201);
  const send = (name: string, more: object = { stream: 'digest' }) =>
    server.send({ ...more, to: { email: `${name}@example.com` } });
  const current = async () => {
    const { rows } = await database.pool.query('select sender, plan_day, refused from warm_ups');
    return rows.map((row) => ({ ...row, refused: Number(row.refused) }));
  };
  const refused = async () => (await current())[0]?.refused;
  const bounceOf = (name: string, diagnostic: string, status = '5.7.1') =>
    dsn({ id: name, recipient: `${name}@example.com`, status, diagnostic });

  const blocked = await send('blocked');
  expect(await current()).toEqual([{ sender: NEW, plan_day: 12, refused: 0 }]);
  const reputation = '550 5.7.1 Rejected because of the poor reputation of your IP address';
  for (let n = 0; n < 2; n++) {
    expect((await server.report(blocked.returnPath, bounceOf('blocked', reputation))).code).toBe(
      250,
    );
  }
  const { recipients } = await server.message(blocked.id);
  expect(recipients[0].bounce.reason).toBe('blocked_reputation');
  expect(await refused()).toBe(1);

  const disliked = await send('disliked');
  for (let n = 0; n < 2; n++) {
    expect((await server.report(disliked.returnPath, complaint())).code).toBe(250);
  }
  expect((await server.message(disliked.id)).recipients[0].complained_at).not.toBeNull();
  expect(await refused()).toBe(2);

  // A mailbox that does not exist says nothing about the address, nor does mail from another one.
  const unknown = await send('unknown');
  await server.report(unknown.returnPath, bounceOf('unknown', '550 5.1.1 User unknown', '5.1.1'));
  expect((await server.message(unknown.id)).status).toBe('bounced');
  const other = await send('other', {});
  await server.report(other.returnPath, bounceOf('other', reputation));
  expect((await server.message(other.id)).status).toBe('bounced');
  expect(await refused()).toBe(2);

  // A plan that has started since is about other mail.
  const before = await send('before');
  await database.pool.query(`update warm_ups set starts_at = starts_at + interval '2 days'`);
  await server.report(before.returnPath, bounceOf('before', reputation));
  expect((await server.message(before.id)).status).toBe('bounced');
  expect(await refused()).toBe(2);
});

test('a stream whose address has not started yet sends from the standard one', async () => {
  const STREAM_ROUTES = `bulk=direct?address=${NEW}&warmup=2099-01-01`;
  await using server = await startReturnPathServer({ env: { STREAM_ROUTES } });
  const { app, receiver } = server;
  const key = app.liveKey;
  const body = { key: 'digest', purpose: 'transactional', route: 'bulk' };
  expect((await app.call('POST', '/streams', { key, body })).status).toBe(201);
  const { id } = await server.send({ stream: 'digest' });
  expect(receiver.sessions.map(({ from }) => from)).toEqual(['127.0.0.1']);
  const { json } = await app.call('GET', `/messages/${id}/attempts`, { key });
  expect(JSON.stringify(json)).toContain(
    `sent by the standard route: the warm-up of ${NEW} has not started`,
  );
});

test('a delivery node that is killed does not exceed the cap, and operators see the warm-up', async () => {
  await using receiver = await startSmtpReceiver();
  await using dns = await startDnsServer({
    'example.com': { MX: ['10 mx1.example.test'] },
    'mx1.example.test': { A: [receiver.host] },
  });
  await using database = await createTestDatabase();
  await using dataDir = await createTempDir();
  const startMs = startOfDay(Date.now());
  const delivery = {
    DNS_SERVERS: dns.address,
    MX_PORT: String(receiver.port),
    HELO_NAME: 'mail.sender.test',
    OUTGOING_ADDRESSES: NEW,
    DELIVERY_ROUTE: `direct?warmup=${new Date(startMs).toISOString().slice(0, 10)}&overflow=warm`,
    STREAM_ROUTES: `warm=direct?address=${WARM}`,
  };
  await using app = await startApp({ database, env: { ROLES: 'api' } });
  await app.app.domains.trust(app.workspaceId, { name: 'example.org' });
  const node = await createServerProcess({
    dataDir: dataDir.path,
    env: { ...databaseEnv(database), ...delivery, ROLES: 'delivery' },
  });
  await node.start();
  const key = app.liveKey;
  const send = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n++) {
      const body = validMessage({ to: { email: `u${n}@example.com` } });
      expect((await app.call('POST', '/transactional/send', { key, body })).status).toBe(202);
    }
  };
  await send(40);
  await receiver.untilMessages(10);
  await node.kill();
  await node.start();
  await send(40);
  await until(async () => {
    const { rows } = await database.pool.query(
      `select from deliveries where status <> 'delivered'`,
    );
    return rows.length === 0;
  });
  const counts = arrivals(receiver);
  const cap = startOfDay(Date.now()) === startMs ? 50 : 50 + 75;
  expect(counts[NEW]).toBeGreaterThan(40);
  expect(counts[NEW]).toBeLessThanOrEqual(cap);
  expect(counts[WARM]).toBeGreaterThanOrEqual(80 - cap);

  const env = { ...databaseEnv(database), ...delivery };
  const [doctor, queue] = await Promise.all(
    [['doctor', '--json'], ['queue']].map((args) => runPostrider(args, { env })),
  );
  expect(doctor?.stdout).toMatch(
    new RegExp(
      `${NEW} .the standard route. to other: day 1 of 30, 50 of 50 messages today, \\d+ sent by the route warm`,
    ),
  );
  expect(queue?.stdout).toMatch(new RegExp(`${NEW} +other +1 +50 of 50 +\\d+`));
  const metrics = await (await fetch(`${app.url}/metrics`)).text();
  expect(metrics).toContain(`postrider_warm_up_used{address="${NEW}",provider="other"} 50`);
  expect(await node.stop()).toBe(0);
});
