import { expect, test } from 'vitest';
import { runPostrider } from '../../harness/cli-process.ts';
import { createTestDatabase } from '../../harness/database/database.ts';
import { createServerProcess } from '../../harness/server-process.ts';
import { startDnsServer } from '../../harness/smtp/dns-server.ts';
import { startSmtpReceiver } from '../../harness/smtp/smtp-receiver.ts';
import { createTempDir } from '../../harness/temp-dir.ts';
import { until } from '../../harness/until.ts';
import { startWebhookReceiver } from '../../harness/webhooks/webhook-receiver.ts';

/**
 * A server is killed while it sends a message and a webhook. After the restart both are sent again
 * within seconds, and not when their leases end after an hour and a minute. With the embedded database
 * no other process can hold a lease; on a shared one, the killed process is seen to be dead.
 */
test(
  'embedded database: what a crash interrupted is sent again',
  {
    timeout: 600_000,
  },
  () => crashWhileSending({}),
);

test('shared database: what a crash interrupted is sent again', {
  timeout: 600_000,
}, async () => {
  await using database = await createTestDatabase();
  await crashWhileSending({
    DATABASE_URL: database.url,
    SECRET_KEY: 'ab'.repeat(32),
    ALLOW_UNSAFE_DATABASE: 'true',
  });
  // The server that was stopped has left, and the one that was killed was removed.
  expect((await database.pool.query('select from lease_holders')).rowCount).toBe(0);
});

async function crashWhileSending(databaseEnv: Record<string, string>): Promise<void> {
  await using dns = await startDnsServer({
    'one.example': { MX: ['10 mx.example.test'], ttlSeconds: 60 },
    'mx.example.test': { A: ['127.0.0.1'], ttlSeconds: 60 },
  });
  let arrivals = 0;
  const crash = Promise.withResolvers<void>();
  await using receiver = await startSmtpReceiver({
    onMessage: async () => {
      arrivals += 1;
      receiver.notifyWatchers();
      if (arrivals === 1) await crash.promise;
      return undefined;
    },
  });
  await using endpoint = await startWebhookReceiver({ answer: () => 'hang' });
  await using folder = await createTempDir();
  const server = await createServerProcess({
    dataDir: folder.path,
    env: {
      ...databaseEnv,
      LEASE_SECONDS: '3600',
      DNS_SERVERS: dns.address,
      MX_PORT: String(receiver.port),
      HELO_NAME: 'mail.sender.test',
      WEBHOOK_ALLOW_PRIVATE: 'true',
      WEBHOOK_PORTS: String(endpoint.port),
    },
  });
  try {
    await server.start();
    const env = { DATA_DIR: folder.path, ...databaseEnv };
    await runPostrider(['domains', 'add', 'sender.example', '--trust'], { env });
    const scopes = 'send:transactional,write:webhooks';
    const made = await runPostrider(
      ['keys', 'create', '--mode', 'live', '--scopes', scopes, '--json'],
      { env },
    );
    const post = (path: string, body: unknown) =>
      fetch(`${server.url}/api/v1${path}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${JSON.parse(made.stdout).token}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify(body),
      });
    const webhook = await post('/webhooks', { url: endpoint.url, events: ['message.accepted'] });
    expect(webhook.status).toBe(201);
    const sent = await post('/transactional/send', {
      to: { email: 'ann@one.example' },
      from: { email: 'hello@sender.example' },
      subject: 'Your code',
      html: '<p>123456</p>',
      ttl_seconds: 1800,
    });
    expect(sent.status).toBe(202);
    await until(() => arrivals === 1 && endpoint.received.length === 1);
    await server.kill();
    crash.resolve();
    endpoint.answer = () => ({ status: 204 });
    await server.start();
    await until(() => arrivals === 2 && endpoint.received.length === 2);
    const ids = endpoint.received.map(({ id }) => id);
    expect(ids).toEqual([ids[0], ids[0]]);
    expect(await server.stop()).toBe(0);
  } finally {
    await server.kill();
    await server.killPostgres();
  }
}
