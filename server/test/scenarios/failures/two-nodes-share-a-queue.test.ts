import { expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { createTestDatabase } from '../../harness/database/database.ts';
import { enqueue, newWorkspace } from '../../harness/database/enqueue-messages.ts';
import { until } from '../../harness/delivery/delivery-engine.ts';
import { startDeliveryNode } from '../../harness/delivery/delivery-node-process.ts';
import { startDnsServer } from '../../harness/smtp/dns-server.ts';
import { startSmtpReceiver } from '../../harness/smtp/smtp-receiver.ts';

/** Nodes that share a queue send every message once: two processes, 4,000 messages, counted by the receiver. */
test('two nodes send 4,000 messages without a duplicate', async () => {
  await using database = await createTestDatabase();
  const domains = Array.from({ length: 50 }, (_, n) => `d${n}.example`);
  await using dns = await startDnsServer({
    ...Object.fromEntries(
      domains.map((domain) => [domain, { MX: ['10 mx.example.org'], ttlSeconds: 60 }]),
    ),
    'mx.example.org': { A: ['127.0.0.1'], ttlSeconds: 60 },
  });
  const seen = new Set<string>();
  let doubles = 0;
  await using receiver = await startSmtpReceiver({
    onMessage: (mail) => {
      for (const recipient of mail.recipients) {
        if (seen.has(recipient)) doubles += 1;
        seen.add(recipient);
      }
      // Free the memory of 4,000 bodies.
      receiver.messages.length = 0;
      return undefined;
    },
  });
  const { pool } = database;
  const nowMs = systemClock.now();
  const count = 4_000;
  for (let tenant = 0; tenant < 10; tenant++) {
    const workspaceId = await newWorkspace(pool, nowMs);
    await enqueue(
      pool,
      Array.from({ length: count / 10 }, (_, n) => ({
        workspaceId,
        nowMs,
        recipients: [`t${tenant}-${n}@${domains[n % domains.length]}`],
      })),
    );
  }
  const options = { url: database.url, dns: dns.address, mxPort: receiver.port, leaseMs: 60_000 };
  await using _one = await startDeliveryNode({ ...options, nodeName: 'one' });
  await using _two = await startDeliveryNode({ ...options, nodeName: 'two' });
  const left = `select count(*)::int as n from deliveries where status <> 'delivered'`;
  await until(async () => (await pool.query<{ n: number }>(left)).rows[0]?.n === 0, {
    timeoutMs: 200_000,
  });
  expect(seen.size).toBe(count);
  expect(doubles).toBe(0);
  const { rows } = await pool.query<{ node: string; n: number }>(
    'select node, count(*)::int as n from attempts group by node',
  );
  expect(rows.map((row) => row.node).sort()).toEqual(['one', 'two']);
}, 240_000);
