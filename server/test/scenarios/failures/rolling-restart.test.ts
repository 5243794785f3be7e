import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { databaseEnv, runPostrider } from '../../harness/cli-process.ts';
import { createTestDatabase } from '../../harness/database/database.ts';
import { startLoadBalancer } from '../../harness/http/load-balancer.ts';
import { createServerProcess, type ServerProcess } from '../../harness/server-process.ts';
import { startDnsServer } from '../../harness/smtp/dns-server.ts';
import { startSmtpReceiver } from '../../harness/smtp/smtp-receiver.ts';

/**
 * Two nodes behind a load balancer are restarted one after the other while clients send. Every request
 * gets its 202 at the first try, and every message arrives once, counted by the receiver.
 */

const CLIENTS = 6;
const SENDER = 'sender.example';

test('a rolling restart under load fails no request and sends nothing twice', {
  timeout: 240_000,
}, async () => {
  await using database = await createTestDatabase();
  await using dns = await startDnsServer({
    'example.org': { MX: ['10 mx.example.org'], ttlSeconds: 60 },
    'mx.example.org': { A: ['127.0.0.1'], ttlSeconds: 60 },
  });
  await using receiver = await startSmtpReceiver();
  const env = {
    ...databaseEnv(database),
    DNS_SERVERS: dns.address,
    MX_PORT: String(receiver.port),
    HELO_NAME: 'mail.sender.test',
    SHUTDOWN_DELAY_SECONDS: '4',
  };
  const nodes: ServerProcess[] = [];
  try {
    for (const _ of [1, 2]) {
      nodes.push(await createServerProcess({ dataDir: '/nonexistent', env }));
    }
    await Promise.all(nodes.map((node) => node.start()));
    const key = await liveKey(env);
    await using balancer = await startLoadBalancer(nodes.map(({ url }) => url));
    await expect.poll(() => fetch(`${balancer.url}/readyz`).then(({ ok }) => ok)).toBe(true);
    balancer.failures.length = 0;

    const over = new AbortController();
    const clients = Array.from({ length: CLIENTS }, (_, n) =>
      sendUntil(over.signal, balancer.url, key, n),
    );
    for (const node of nodes) {
      await receiver.untilMessages(receiver.messages.length + 20);
      expect(await node.stop()).toBe(0);
      await node.start();
    }
    await receiver.untilMessages(receiver.messages.length + 20);
    over.abort();
    const sent = (await Promise.all(clients)).flat();

    expect(balancer.failures).toEqual([]);
    expect(sent.filter(({ status }) => status !== 202)).toEqual([]);
    await receiver.untilMessages(sent.length);
    const arrived = receiver.messages.flatMap(({ recipients }) => recipients);
    expect(arrived.sort()).toEqual(sent.map(({ to }) => to).sort());
  } finally {
    for (const node of nodes) await node.kill();
  }
});

async function liveKey(env: Record<string, string>): Promise<string> {
  const domain = await runPostrider(['domains', 'add', SENDER, '--trust', '--json'], { env });
  expect(domain).toMatchObject({ code: 0 });
  const key = await runPostrider(
    ['keys', 'create', '--mode', 'live', '--scopes', 'send:transactional', '--json'],
    { env },
  );
  return JSON.parse(key.stdout).token;
}

async function sendUntil(over: AbortSignal, url: string, key: string, client: number) {
  const sent: { to: string; status: number }[] = [];
  for (let n = 0; !over.aborted; n++) {
    const to = `${client}-${n}@example.org`;
    const { status } = await fetch(`${url}/api/v1/transactional/send`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        to: { email: to },
        from: { email: `hello@${SENDER}` },
        subject: 'Hello',
        html: '<p>Hello</p>',
      }),
    });
    sent.push({ to, status });
    await sleep(25);
  }
  return sent;
}
