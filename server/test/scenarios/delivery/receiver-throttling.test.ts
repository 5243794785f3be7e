import { expect, test } from 'vitest';
import type { Throttle } from '../../../src/delivery/receivers/receiver.ts';
import { listThrottles, saveThrottle } from '../../../src/delivery/receivers/throttle-store.ts';
import type { ThrottleMemory } from '../../../src/delivery/transport/smtp-transport.ts';
import { newWorkspace } from '../../harness/database/enqueue-messages.ts';
import { startEngine, until } from '../../harness/delivery/delivery-engine.ts';
import { setUpDelivery } from '../../harness/delivery/delivery-setup.ts';
import { signedLiveRoute } from '../../harness/delivery/signed-live-route.ts';
import { SILENCE, startSmtpReceiver } from '../../harness/smtp/smtp-receiver.ts';

/**
 * Receivers that limit us, block us or never answer: they get few attempts, and no other mail waits
 * for them.
 */

const GMAIL_LIMIT =
  '421-4.7.28 Gmail has detected an unusual rate of unsolicited mail\n421 4.7.28 try again later';
const MINUTE_MS = 60_000;

test('a receiver that limits us gets fewer and fewer attempts, and everything once it relents', async () => {
  let limited = true;
  await using setup = await setUpDelivery({
    receivers: [{ onMessage: () => (limited ? GMAIL_LIMIT : undefined) }],
    shaping: { receivers: [{ name: 'Google', mx: ['mx1.example.test'] }] },
  });
  const ids: string[] = [];
  for (let n = 0; n < 30; n++) {
    ids.push(await setup.send({ recipients: [`user${n}@example.org`] }));
  }
  const startMs = setup.clock.now();
  await setup.until(() => setup.clock.now() - startMs > 2 * MINUTE_MS, 500);
  // The first attempts run concurrently, and four pauses follow. With a fixed pause it was 61.
  expect(setup.receiver.messages.length).toBeGreaterThan(2);
  expect(setup.receiver.messages.length).toBeLessThan(12);
  expect(setup.node.engine.stats.throttled).toBe(1);
  const deferred = (await setup.events()).find(({ type }) => type === 'message.deferred');
  expect(deferred?.data).toMatchObject({
    bounce: {
      reason: 'rate_limited',
      explanation: expect.stringMatching(
        /^Google is limiting .* next attempt is in (about )?\d+ (seconds|minutes)\.$/,
      ),
    },
  });
  limited = false;
  for (const id of ids) await setup.waitForStatus(id, 'delivered', 5_000);
  expect(setup.node.engine.stats.throttled).toBe(0);
});

test('a throttle survives a restart', async () => {
  await using setup = await setUpDelivery({ receivers: [{ onMessage: () => GMAIL_LIMIT }] });
  const { pool } = setup.database;
  const pausedUntilMs = setup.clock.now() + 5 * MINUTE_MS;
  const throttle: Throttle = { receiver: 'mx1.example.test', level: 6, pausedUntilMs };
  await saveThrottle(pool, { ...throttle, level: 5 });
  await saveThrottle(pool, throttle);
  expect(await listThrottles(pool)).toEqual([throttle]);
  await setup.node[Symbol.asyncDispose]();

  const saved: Throttle[] = [];
  const throttles: ThrottleMemory = {
    load: () => listThrottles(pool),
    save: (change) => saved.push(change),
  };
  const { clock, receiver, dns, database } = setup;
  const live = signedLiveRoute({ clock, dns: dns.address, mxPort: receiver.port, throttles });
  await using node = startEngine({ url: database.url, clock, live });
  await until(() => node.engine.stats.throttled === 1, { clock, stepMs: 100 });
  await setup.send();
  node.engine.wake();
  await setup.until(() => receiver.messages.length > 0, 10_000);
  expect(clock.now()).toBeGreaterThanOrEqual(pausedUntilMs);
  await until(() => saved.length > 0, { clock, stepMs: 100 });
  expect(saved[0]).toMatchObject({ receiver: 'mx1.example.test', level: 7 });
  await saveThrottle(pool, { ...throttle, level: 0 });
  expect(await listThrottles(pool)).toEqual([]);
});

test('a rejection at the greeting is retried for hours before it bounces', async () => {
  const blocked = '554 5.7.1 Client host [192.0.2.1] blocked';
  let greeting: string | undefined = blocked;
  await using setup = await setUpDelivery({ receivers: [{ onConnect: () => greeting }] });
  const id = await setup.send();
  await setup.waitForStatus(id, 'deferred');
  greeting = undefined;
  expect(await setup.waitForFinalStatus(id)).toMatchObject({ status: 'delivered' });

  greeting = blocked;
  await setup.until(() => setup.receiver.sessions.every(({ closed }) => closed));
  const startMs = setup.clock.now();
  const other = await setup.send();
  expect(await setup.waitForFinalStatus(other)).toMatchObject({
    status: 'bounced',
    reason: 'blocked_reputation',
  });
  expect(setup.clock.now() - startMs).toBeGreaterThan(4 * 60 * MINUTE_MS);
  expect((await setup.database.pool.query('select from suppressions')).rowCount).toBe(0);
});

test('a silent address with many domains holds few connections, and other mail moves', async () => {
  await using silent = await startSmtpReceiver({ host: '127.0.0.9', onConnect: () => SILENCE });
  const domains = Array.from({ length: 40 }, (_, n) => `s${n}.silent.test`);
  await using healthy = await startSmtpReceiver({ port: silent.port });
  await using setup = await setUpDelivery({
    mxPort: silent.port,
    limits: { inFlightMax: 20 },
    dns: {
      'healthy.test': { MX: ['10 mx.healthy.test'] },
      'mx.healthy.test': { A: [healthy.host] },
      ...Object.fromEntries(domains.map((name) => [name, { MX: [`10 mx.${name}`] }])),
      ...Object.fromEntries(domains.map((name) => [`mx.${name}`, { A: [silent.host] }])),
    },
    additionalReceivers: [healthy],
  });
  for (const domain of domains) await setup.send({ recipients: [`signup@${domain}`] });
  await setup.until(() => silent.sessions.length === 4, 1);
  const own = await setup.send({ recipients: ['jane@healthy.test'] });
  const neighbor = await newWorkspace(setup.database.pool, setup.clock.now());
  const other = await setup.send({ workspaceId: neighbor, recipients: ['joe@healthy.test'] });
  for (const id of [own, other]) await setup.waitForStatus(id, 'delivered', 100);
  expect(silent.sessions.map(({ closed }) => closed)).toEqual([false, false, false, false]);
  await setup.until(() => setup.node.engine.stats.inFlight === 4, 1);
});
