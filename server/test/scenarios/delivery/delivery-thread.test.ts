import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import path from 'node:path';
import { expect, test } from 'vitest';
import { buildDelivery } from '../../../src/bootstrap/build-delivery.ts';
import { readConfig } from '../../../src/config/read-config.ts';
import type { DatabaseHosts } from '../../../src/db/connections/database-url.ts';
import { listen, type NotificationListener } from '../../../src/db/connections/listen.ts';
import type { Storage } from '../../../src/db/open-storage.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import { createTestDatabase, type TestDatabase } from '../../harness/database/database.ts';
import { deliveriesOf, enqueue, newWorkspace } from '../../harness/database/enqueue-messages.ts';
import { startDnsServer } from '../../harness/smtp/dns-server.ts';
import { startSmtpReceiver } from '../../harness/smtp/smtp-receiver.ts';
import { until } from '../../harness/until.ts';

/**
 * With the delivery engine in its own thread, behavior is the same: messages handed over in memory
 * arrive complete, can be cancelled, and are released on shutdown; a crashed thread ends the process
 * instead of leaving mail undelivered. live-delivery-configuration.test.ts tests the rest with and
 * without the thread.
 */

const SECRET_KEY = 'a secret key for tests, long enough to be one';

/** One message at a time: the receiver holds the first at its final dot, and the others wait. */
async function serverWithOneConnection(database: TestDatabase) {
  const gate = Promise.withResolvers<undefined>();
  const receiver = await startSmtpReceiver({ onMessage: () => gate.promise });
  const dns = await startDnsServer({
    'example.com': { MX: ['10 mx1.example.test'] },
    'mx1.example.test': { A: ['127.0.0.1'] },
  });
  const env = {
    DNS_SERVERS: dns.address,
    MX_PORT: String(receiver.port),
    DELIVERY_CONCURRENCY: '1',
    DELIVERY_THREAD: 'on',
  };
  const app = await startApp({ database, env });
  await app.app.domains.trust(app.workspaceId, { name: 'example.org' });
  await until(() => app.app.engine?.stats.accepting === 1);
  return {
    app,
    env,
    receiver,
    letGo: () => gate.resolve(undefined),
    async [Symbol.asyncDispose]() {
      gate.resolve(undefined);
      await app[Symbol.asyncDispose]();
      await dns[Symbol.asyncDispose]();
      await receiver.close();
    },
  };
}

async function send(app: TestApp, changes: Record<string, unknown> = {}): Promise<string> {
  const sent = await app.call('POST', '/transactional/send', {
    key: app.liveKey,
    body: validMessage(changes),
  });
  expect(sent.status).toBe(202);
  return sent.json.id;
}

async function statusOf(app: TestApp, id: string): Promise<string> {
  return (await app.call('GET', `/messages/${id}`, { key: app.liveKey })).json.status;
}

test('attachments arrive byte for byte, small ones in shared memory and large ones', async () => {
  await using database = await createTestDatabase();
  await using it = await serverWithOneConnection(database);
  it.letGo();
  const files = [3, 700, 700, 200_000].map((size, n) => ({
    filename: `${n}.bin`,
    content: randomBytes(size),
    content_type: 'application/octet-stream',
  }));
  const attachments = files.map((file) => ({ ...file, content: file.content.toString('base64') }));
  const ids = [await send(it.app, { attachments }), await send(it.app, { attachments })];
  for (const id of ids) await until(async () => (await statusOf(it.app, id)) === 'delivered');
  expect(it.receiver.messages).toHaveLength(2);
  for (const { raw } of it.receiver.messages) {
    const text = raw.toString('latin1').replaceAll('\r\n', '');
    for (const { content } of attachments) expect(text).toContain(content);
  }
  const stats = it.app.app.engine?.stats;
  expect(stats).toMatchObject({ handedOff: 2, claimed: 0, contentBytes: 0, released: 2 });
  expect(stats?.releasedBytes).toBe(stats?.reservedBytes);
});

test('messages queued in the thread can be cancelled and are never sent', async () => {
  await using database = await createTestDatabase();
  await using it = await serverWithOneConnection(database);
  const first = await send(it.app);
  await it.receiver.untilMessages(1);
  const second = await send(it.app);
  await until(() => it.app.app.engine?.stats.ready === 1);
  const cancel = (id: string) =>
    it.app.call('POST', `/messages/${id}/cancel`, { key: it.app.liveKey });
  expect((await cancel(first)).json.code).toBe('not_cancellable');
  expect((await cancel(second)).json.status).toBe('cancelled');
  expect(it.app.app.engine?.stats.ready).toBe(0);
  it.letGo();
  await until(async () => (await statusOf(it.app, first)) === 'delivered');
  const third = await send(it.app);
  await until(async () => (await statusOf(it.app, third)) === 'delivered');
  expect(it.receiver.messages).toHaveLength(2);
});

test('a stop finishes the message in progress and releases the rest to the next node immediately', async () => {
  await using database = await createTestDatabase();
  await using it = await serverWithOneConnection(database);
  await send(it.app);
  await it.receiver.untilMessages(1);
  await send(it.app);
  await until(() => it.app.app.engine?.stats.ready === 1);
  const stopped = it.app.app.stop();
  await until(() => it.app.app.engine?.stats.ready === 0);
  it.letGo();
  await stopped;
  expect(it.app.app.engine?.stats).toMatchObject({ delivered: 1, inFlight: 0, unrecorded: 0 });
  expect(await connectionsTo(database)).toEqual([]);

  await using next = await startApp({ database, env: it.env });
  await until(() => next.app.engine?.stats.delivered === 1);
  expect(it.receiver.messages).toHaveLength(2);
});

test('its metrics are part of those of the process', async () => {
  await using app = await startApp({ env: { DELIVERY_THREAD: 'on' } });
  // Before its first heartbeat the engine only claims.
  await until(() => app.app.engine?.stats.accepting === 1);
  const sent = await app.call('POST', '/transactional/send', { body: validMessage() });
  expect(sent.status).toBe(202);
  await until(() => app.app.engine?.stats.delivered === 1);
  const metrics = await (await fetch(`${app.url}/metrics`)).text();
  expect(metrics).toContain('postrider_deliveries_total{outcome="delivered"} 1\n');
  expect(metrics).toContain('postrider_deliveries_leased_total{source="handoff"} 1\n');
  expect(metrics).toMatch(/^postrider_event_loop_busy_seconds_total\{thread="delivery"\} \d/m);
  expect(metrics).toMatch(/^postrider_database_connections\{pool="delivery",state="idle"\} [1-9]/m);
  expect(metrics).toMatch(/^postrider_database_waiting\{pool="keys"\} 0$/m);
});

test('event followers are notified of every commit', async () => {
  await using database = await createTestDatabase();
  const { pool } = database;
  await using notifications = listen({ hosts: hostsOf(database), log: silentLog });
  let commits = 0;
  const thread = await openThread(database, notifications, () => {
    commits += 1;
  });
  await thread.ready;
  thread.engine?.start();
  const nowMs = systemClock.now();
  const workspaceId = await newWorkspace(pool, nowMs);
  const queued = { workspaceId, mode: 'test' as const, nowMs, recipients: ['jane@example.com'] };
  const [id = ''] = await enqueue(pool, [queued]);
  await until(async () => (await deliveriesOf(pool, id))[0]?.status === 'delivered');
  await until(() => commits === 1);
  await thread.engine?.stop();
  await thread.close();
  // A thread that has exited is not waited for.
  expect(await thread.connections()).toEqual({});
  expect(await thread.engine?.withdraw(workspaceId, 'test', id)).toBe(false);
});

test('requests do not wait for an exiting thread', async () => {
  await using database = await createTestDatabase();
  await using notifications = listen({ hosts: hostsOf(database), log: silentLog });
  const thread = await openThread(database, notifications, () => {});
  await thread.ready;
  const requested = thread.connections();
  await thread.close();
  await requested;
});

test('a crashed thread ends the process and logs the reason', async () => {
  await using database = await createTestDatabase();
  const nowMs = systemClock.now();
  const workspaceId = await newWorkspace(database.pool, nowMs);
  const queued = { workspaceId, nowMs, recipients: ['jane@example.com'] };
  const [id = ''] = await enqueue(database.pool, [queued]);
  const script = path.join(import.meta.dirname, '../../harness/delivery/crashing-server.ts');
  const env = {
    DATABASE_URL: database.url,
    SECRET_KEY,
    ALLOW_UNSAFE_DATABASE: 'true',
    PORT: '0',
    SUBMISSION_PORT: 'off',
    RETURN_PATH_PORT: 'off',
    DELIVERY_THREAD: 'on',
  };
  const ended = await new Promise<{ code: unknown; output: string }>((resolve) => {
    execFile(process.execPath, [script], { env }, (error, stdout, stderr) =>
      resolve({ code: error?.code, output: stdout + stderr }),
    );
  });
  expect(ended.code).toBe(1);
  expect(ended.output).toContain('delivery thread crashed');
  expect(ended.output).toContain('A bug for this test.');
  // Still leased: after the lease has expired, a node counts the crash and tries again.
  expect((await deliveriesOf(database.pool, id))[0]?.status).toBe('queued');
});

test('a failed start leaves no thread behind', async () => {
  await using database = await createTestDatabase();
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as { port: number };
  const env = { PORT: String(port), DELIVERY_THREAD: 'on' };
  await expect(startApp({ database, env })).rejects.toThrow('EADDRINUSE');
  await until(async () => (await connectionsTo(database)).length === 0);
  other.close();
});

function hostsOf({ url }: TestDatabase): DatabaseHosts {
  return [{ connectionString: url }];
}

function openThread(
  database: TestDatabase,
  notifications: NotificationListener,
  onEvents: () => void,
) {
  const { pool, url } = database;
  const storage = { pool, hosts: hostsOf(database), secretKey: Buffer.alloc(32) };
  return buildDelivery({
    config: readConfig({ DATABASE_URL: url, SECRET_KEY, DELIVERY_THREAD: 'on' }),
    clock: systemClock,
    log: silentLog,
    storage: storage as Partial<Storage> as Storage,
    notifications,
    bounceRules: [],
    localListeners: [],
    onEventsCommitted: onEvents,
  });
}

/** By name, without those of the test itself. */
async function connectionsTo({ pool }: TestDatabase): Promise<string[]> {
  const { rows } = await pool.query<{ application_name: string }>(
    `select application_name from pg_stat_activity
     where datname = current_database() and application_name in
       ('postrider delivery', 'postrider keys', 'postrider listen')`,
  );
  return rows.map(({ application_name: name }) => name);
}
