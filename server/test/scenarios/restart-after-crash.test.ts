import { expect, test } from 'vitest';
import { runPostrider } from '../harness/cli-process.ts';
import { startDnsServer } from '../harness/dns-server.ts';
import { createServerProcess } from '../harness/server-process.ts';
import { startSmtpReceiver } from '../harness/smtp-receiver.ts';
import { createTempDir } from '../harness/temp-dir.ts';
import { until } from '../harness/until.ts';

/**
 * A server with its embedded database is killed while it sends a message. After the restart the
 * message is sent again at once: no other process can hold its lease, which lasts an hour here.
 */
test('mail that a crash interrupted is sent again within its ttl', {
  timeout: 600_000,
}, async () => {
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
  await using folder = await createTempDir();
  const server = await createServerProcess({
    dataDir: folder.path,
    env: {
      LEASE_SECONDS: '3600',
      DNS_SERVERS: dns.address,
      MX_PORT: String(receiver.port),
      HELO_NAME: 'mail.sender.test',
    },
  });
  try {
    await server.start();
    const env = { DATA_DIR: folder.path };
    await runPostrider(['domains', 'add', 'sender.example', '--trust'], { env });
    const made = await runPostrider(
      ['keys', 'create', '--mode', 'live', '--scopes', 'send:transactional', '--json'],
      { env },
    );
    const response = await fetch(`${server.url}/api/v1/transactional/send`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${JSON.parse(made.stdout).token}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({
        to: { email: 'ann@one.example' },
        from: { email: 'hello@sender.example' },
        subject: 'Your code',
        html: '<p>123456</p>',
        ttl_seconds: 1800,
      }),
    });
    expect(response.status).toBe(202);
    await receiver.until(() => arrivals === 1);
    await server.kill();
    crash.resolve();
    await server.start();
    await until(() => arrivals === 2);
    expect(await server.stop()).toBe(0);
  } finally {
    await server.kill();
    await server.killPostgres();
  }
});
