import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import { startApp, validMessage } from '../../harness/app.ts';
import { createTestDatabase } from '../../harness/database/database.ts';
import { startDatabaseProxy } from '../../harness/database/database-proxy.ts';
import { until } from '../../harness/until.ts';
import { startWebhookReceiver } from '../../harness/webhooks/webhook-receiver.ts';

/** Every node, whatever its roles, reports liveness, readiness and metrics, also during a database outage. */

interface Figures {
  of(line: string): number | undefined;
  text: string;
}

async function figuresOf(url: string): Promise<Figures> {
  const answer = await fetch(`${url}/metrics`);
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toContain('text/plain');
  const text = await answer.text();
  const lines = new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]),
  );
  return { of: (line) => lines.get(line), text };
}

test('metrics show the outcomes of deliveries and webhooks', async () => {
  await using app = await startApp({ env: { WEBHOOK_ALLOW_PRIVATE: 'true' } });
  await using receiver = await startWebhookReceiver();
  // Before its first heartbeat the engine only claims.
  await until(() => app.app.engine?.stats.accepting === 1);
  const endpoint = { url: receiver.url, events: ['message.bounced'] };
  expect((await app.call('POST', '/webhooks', { body: endpoint })).status).toBe(201);
  for (const to of ['jane@example.com', 'john@example.com', 'bounced@simulator.test']) {
    await app.call('POST', '/transactional/send', { body: validMessage({ to: { email: to } }) });
  }
  await until(async () => {
    const { of } = await figuresOf(app.url);
    const ended = ['delivered', 'bounced'].map((outcome) =>
      of(`postrider_deliveries_total{outcome="${outcome}"}`),
    );
    const succeeded = of('postrider_webhook_attempts_total{outcome="succeeded"}');
    const inFlight = of('postrider_deliveries_in_memory{state="in_flight"}');
    return ended.join() === '2,1' && succeeded === 1 && inFlight === 0;
  });
  const { of } = await figuresOf(app.url);
  expect(of('postrider_deliveries_total{outcome="failed"}')).toBe(0);
  expect(of('postrider_deliveries_leased_total{source="handoff"}')).toBe(3);
  expect(of('postrider_webhook_attempts_total{outcome="failed"}')).toBe(0);
  expect(of('postrider_database_up')).toBe(1);
  expect(of('postrider_database_connections{pool="delivery",state="busy"}')).toBeTypeOf('number');
  expect(of('process_resident_memory_bytes')).toBeGreaterThan(10_000_000);
  expect(of('process_cpu_seconds_total')).toBeGreaterThan(0);
});

test('metric names follow Prometheus: only counters end in _total', async () => {
  await using app = await startApp({ env: { SUBMISSION_PORT: '0', RETURN_PATH_PORT: '0' } });
  const { text } = await figuresOf(app.url);
  const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type]) => ({
    name,
    isNamedAsCounter: name.endsWith('_total'),
    isCounter: type === 'counter',
  }));
  expect(types.length).toBeGreaterThan(20);
  expect(types.filter((one) => one.isNamedAsCounter !== one.isCounter)).toEqual([]);
  const strangers = types.filter(({ name }) => !/^(postrider|process)_/.test(name));
  expect(strangers).toEqual([]);
});

test('every node reports the queue size and its age', async () => {
  const clock = new ManualClock(systemClock.now());
  await using database = await createTestDatabase();
  await using app = await startApp({ database, clock, env: { ROLES: 'api' } });
  await app.call('POST', '/transactional/send', { body: validMessage() });
  const inAnHour = new Date(clock.now() + 3_600_000).toISOString();
  await app.call('POST', '/transactional/send', { body: validMessage({ scheduled_at: inAnHour }) });
  clock.advance(90_000);
  const { of } = await figuresOf(app.url);
  expect(of('postrider_queue_deliveries{status="queued"}')).toBe(1);
  expect(of('postrider_queue_deliveries{status="scheduled"}')).toBe(1);
  expect(of('postrider_queue_oldest_due_seconds')).toBe(90);
  expect(of('postrider_deliveries_total{outcome="delivered"}')).toBeUndefined();
});

test('scraping reads the database at most once in five seconds', async () => {
  const clock = new ManualClock(systemClock.now());
  await using app = await startApp({ clock, env: { ROLES: 'api' } });
  const queued = async () =>
    (await figuresOf(app.url)).of('postrider_queue_deliveries{status="queued"}');
  expect(await queued()).toBe(0);
  await app.call('POST', '/transactional/send', { body: validMessage() });
  clock.advance(4_999);
  expect(await queued()).toBe(0);
  clock.advance(1);
  expect(await queued()).toBe(1);
});

test.each(['delivery', 'webhooks', 'smtp'])('a node with only the role %s', async (role) => {
  await using node = await startApp({ env: { ROLES: role } });
  expect(await fetch(`${node.url}/healthz`).then((answer) => answer.json())).toEqual({
    status: 'ok',
  });
  expect(await fetch(`${node.url}/readyz`).then((answer) => answer.json())).toEqual({
    ready: true,
  });
  const { of } = await figuresOf(node.url);
  expect(of('postrider_database_up')).toBe(1);
  const delivers = of('postrider_deliveries_total{outcome="delivered"}') !== undefined;
  expect(delivers).toBe(role === 'delivery');
  for (const path of ['/api/v1/limits', '/api/v1/openapi.json', '/app', '/docs']) {
    expect((await fetch(node.url + path)).status, path).toBe(404);
  }
});

test('during a database outage other metrics remain, and the node is not ready', async () => {
  const clock = new ManualClock(systemClock.now());
  await using database = await createTestDatabase();
  await using way = await startDatabaseProxy(database.url);
  await using node = await startApp({ database: { ...database, url: way.url }, clock });
  expect((await figuresOf(node.url)).of('postrider_database_up')).toBe(1);
  await way.disconnect();
  clock.advance(5_000);
  const { of } = await figuresOf(node.url);
  expect(of('postrider_database_up')).toBe(0);
  expect(of('postrider_queue_oldest_due_seconds')).toBeUndefined();
  expect(of('postrider_deliveries_in_memory{state="unrecorded"}')).toBe(0);
  expect((await fetch(`${node.url}/readyz`)).status).toBe(503);
  expect((await fetch(`${node.url}/healthz`)).status).toBe(200);
  await way.reconnect();
});

test('several nodes on one machine work without a port if none is configured', async () => {
  await using database = await createTestDatabase();
  const otherServer = createServer();
  // The node that has the port serves it.
  await new Promise<void>((resolve) => {
    otherServer.once('error', () => resolve()).listen(3000, '127.0.0.1', resolve);
  });
  const start = (env: Record<string, string>) => startApp({ database, env });
  await using node = await start({ PORT: '', ROLES: 'delivery' });
  expect(node.url).toBe('');
  const inUse = { code: 'EADDRINUSE' };
  await expect(start({ PORT: '3000', ROLES: 'delivery' })).rejects.toMatchObject(inUse);
  await expect(start({ PORT: '', ROLES: 'api' })).rejects.toMatchObject(inUse);
  await new Promise((resolve) => otherServer.close(resolve));
});

test('metrics show how long a transaction that is left open keeps events from readers', async () => {
  const clock = new ManualClock(systemClock.now());
  await using app = await startApp({ clock });
  const lag = async () => (await figuresOf(app.url)).of('postrider_event_log_lag_seconds');
  expect(await lag()).toBe(0);
  const open = await app.database.pool.connect();
  try {
    await open.query('begin; select pg_current_xact_id()');
    await app.call('POST', '/transactional/send', { body: validMessage() });
    await until(async () => ((await lag()) ?? 0) > 0, { clock, stepMs: 1_000 });
  } finally {
    await open.query('rollback');
    open.release();
  }
  await until(async () => (await lag()) === 0, { clock, stepMs: 1_000 });
});

test('metrics show how far webhooks and statistics are behind', async () => {
  const clock = new ManualClock(systemClock.now());
  await using app = await startApp({ clock, env: { WEBHOOK_ALLOW_PRIVATE: 'true' } });
  await using receiver = await startWebhookReceiver();
  const lag = async (consumer: string) =>
    (await figuresOf(app.url)).of(`postrider_event_consumer_lag_seconds{consumer="${consumer}"}`);
  expect(await lag('webhooks')).toBeUndefined();
  const endpoint = { url: receiver.url, events: ['*'] };
  expect((await app.call('POST', '/webhooks', { body: endpoint })).status).toBe(201);
  const open = await app.database.pool.connect();
  try {
    await open.query('begin; select pg_current_xact_id()');
    await app.call('POST', '/transactional/send', { body: validMessage() });
    for (const consumer of ['webhooks', 'statistics']) {
      await until(async () => ((await lag(consumer)) ?? 0) > 0, { clock, stepMs: 1_000 });
    }
  } finally {
    await open.query('rollback');
    open.release();
  }
  for (const consumer of ['webhooks', 'statistics']) {
    await until(async () => (await lag(consumer)) === 0, { clock, stepMs: 1_000 });
  }
});
