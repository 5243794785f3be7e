import { expect, test } from 'vitest';
import { uuidv7 } from '../../../src/lib/ids.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { createTestDatabase } from '../../harness/database/database.ts';
import { contentOf, enqueue, newWorkspace } from '../../harness/database/enqueue-messages.ts';
import { startEngine, until } from '../../harness/delivery/delivery-engine.ts';
import { unsignedSenders } from '../../harness/delivery/live-route.ts';
import { signedLiveRoute } from '../../harness/delivery/signed-live-route.ts';
import { startDnsServer } from '../../harness/smtp/dns-server.ts';
import { SILENCE, startSmtpReceiver } from '../../harness/smtp/smtp-receiver.ts';

/**
 * A tenant with tens of thousands of queued messages, or a slow receiver, costs others no more than one
 * turn. The tests count the messages that arrived in between instead of measuring time.
 */

const DNS: Record<string, { MX: string[] } | { A: string[]; ttlSeconds: number }> = {
  'mx.example.org': { A: ['127.0.0.1'], ttlSeconds: 60 },
};
const DOMAINS = Array.from({ length: 80 }, (_, n) => `d${n}.example`);
for (const domain of [...DOMAINS, 'small.example']) DNS[domain] = { MX: ['10 mx.example.org'] };

test("one tenant's flood does not delay another's password reset", async () => {
  await using database = await createTestDatabase();
  await using dns = await startDnsServer(DNS);
  await using receiver = await startSmtpReceiver();
  const { pool } = database;
  const clock = systemClock;
  const nowMs = clock.now();
  const big = await newWorkspace(pool, nowMs);
  const small = await newWorkspace(pool, nowMs);
  for (let thousand = 0; thousand < 20; thousand++) {
    await enqueue(
      pool,
      Array.from({ length: 1_000 }, (_, n) => ({
        workspaceId: big,
        nowMs,
        recipients: [`u${thousand}-${n}@${DOMAINS[n % DOMAINS.length]}`],
      })),
    );
  }
  const live = unsignedRoute(dns, receiver);
  const limits = { readyMax: 400, inFlightMax: 50 };
  await using node = startEngine({ url: database.url, clock, live, limits });
  await until(() => receiver.messages.length > 200);
  // First through the database queue, as from a node that only accepts.
  await enqueue(pool, [{ workspaceId: small, nowMs, recipients: ['reset@small.example'] }]);
  const before = receiver.messages.length;
  node.engine.wake();
  await receiver.until(() => arrived().includes('reset@small.example'));
  expect(arrived().indexOf('reset@small.example') - before).toBeLessThan(1_500);

  // Then by direct handoff, while the list is full of the other tenant's messages.
  const lease = node.engine.reserveCapacity(1, 100);
  expect(lease).toBeDefined();
  const messageId = uuidv7(clock.now());
  const at = receiver.messages.length;
  node.engine.handOff(lease as NonNullable<typeof lease>, [
    {
      workspaceId: small,
      mode: 'live',
      messageId,
      createdAtMs: nowMs,
      hasTtl: false,
      stream: 'transactional',
      route: null,
      tags: [],
      metadata: {},
      content: {
        subject: 'Reset',
        head: {
          from: { email: 'sender@example.com' },
          to: [{ email: 'again@small.example' }],
          cc: [],
          reply_to: [],
          headers: [],
        },
        html: '<p>Reset</p>',
        text: null,
        attachments: [],
      },
      deliveries: [
        {
          ordinal: 0,
          recipient: 'again@small.example',
          isBlindCopy: false,
          expiresAtMs: nowMs + 3_600_000,
        },
      ],
    },
  ]);
  await receiver.until(() => arrived().includes('again@small.example'));
  expect(arrived().indexOf('again@small.example') - at).toBeLessThan(150);

  function arrived(): string[] {
    return receiver.messages.map((mail) => mail.recipients[0] ?? '');
  }
});

test('an unresponsive receiver occupies only its own connections', async () => {
  await using database = await createTestDatabase();
  await using dns = await startDnsServer({ ...DNS, ...leadingTo('silent.example') });
  await using receiver = await startSmtpReceiver();
  await using silent = await silentReceiver(receiver.port);
  const { pool } = database;
  const clock = systemClock;
  const nowMs = clock.now();
  const workspaceId = await newWorkspace(pool, nowMs);
  const mail = (recipient: string) => ({ workspaceId, nowMs, recipients: [recipient] });
  await enqueue(
    pool,
    Array.from({ length: 1_000 }, (_, n) => mail(`u${n}@silent.example`)),
  );
  const live = unsignedRoute(dns, receiver);
  await using node = startEngine({ url: database.url, clock, live, limits: { inFlightMax: 100 } });
  await silent.until(() => silent.sessions.length >= 1);
  await enqueue(
    pool,
    Array.from({ length: 300 }, (_, n) => mail(`u${n}@${DOMAINS[n % 80]}`)),
  );
  node.engine.wake();
  await receiver.untilMessages(300);
  expect(silent.messages).toHaveLength(0);
  expect(node.engine.stats.inFlight).toBeLessThanOrEqual(50);
});

test('a tenant with unresponsive receivers leaves connections for others', async () => {
  await using database = await createTestDatabase();
  const silentOnes = Array.from({ length: 60 }, (_, n) => `s${n}.example`);
  await using dns = await startDnsServer({ ...DNS, ...leadingTo(...silentOnes) });
  await using receiver = await startSmtpReceiver();
  await using silent = await silentReceiver(receiver.port);
  const { pool } = database;
  const clock = systemClock;
  const nowMs = clock.now();
  const [first, second, other] = [
    await newWorkspace(pool, nowMs),
    await newWorkspace(pool, nowMs),
    await newWorkspace(pool, nowMs),
  ];
  const mailOf = (workspaceId: string) => (domain: string) => ({
    workspaceId,
    nowMs,
    recipients: [`u@${domain}`],
  });
  await enqueue(pool, silentOnes.slice(0, 30).map(mailOf(first)));
  await enqueue(pool, silentOnes.slice(30).map(mailOf(second)));
  const live = unsignedRoute(dns, receiver);
  await using node = startEngine({ url: database.url, clock, live, limits: { inFlightMax: 20 } });
  await silent.until(() => silent.sessions.length >= 16);
  await enqueue(pool, [mailOf(other)('small.example')]);
  node.engine.wake();
  await receiver.untilMessages(1);
  expect(silent.messages).toHaveLength(0);
});

test("messages in memory for a slow receiver do not block others' large messages", async () => {
  await using database = await createTestDatabase();
  await using dns = await startDnsServer({ ...DNS, ...leadingTo('silent.example') });
  await using receiver = await startSmtpReceiver();
  await using silent = await silentReceiver(receiver.port);
  const { pool } = database;
  const clock = systemClock;
  const nowMs = clock.now();
  const workspaceId = await newWorkspace(pool, nowMs);
  const live = unsignedRoute(dns, receiver);
  const limits = { contentBytesMax: 100_000, inFlightMax: 20 };
  await using node = startEngine({ url: database.url, clock, live, limits });
  const { engine } = node;
  for (let n = 0; ; n++) {
    const lease = engine.reserveCapacity(1, 4_000);
    if (!lease) break;
    const recipient = `u${n}@silent.example`;
    const mail = { workspaceId, nowMs, recipients: [recipient], html: 'x'.repeat(4_000) };
    const expiresAtMs = nowMs + 3_600_000;
    engine.handOff(lease, [
      {
        workspaceId,
        mode: 'live',
        messageId: uuidv7(nowMs),
        createdAtMs: nowMs,
        hasTtl: false,
        stream: 'transactional',
        route: null,
        tags: [],
        metadata: {},
        content: contentOf(mail),
        deliveries: [{ ordinal: 0, recipient, isBlindCopy: false, expiresAtMs }],
      },
    ]);
  }
  await silent.until(() => silent.sessions.length >= 1);
  expect(engine.stats.contentBytes).toBeGreaterThan(90_000);
  const recipients = ['large@small.example'];
  await enqueue(pool, [{ workspaceId, nowMs, recipients, html: 'x'.repeat(50_000) }]);
  engine.wake();
  await receiver.untilMessages(1);
  await until(() => engine.stats.delivered === 1);
  expect(engine.stats.ready).toBeGreaterThan(10);
});

test("a tenant's slow large messages delay only that tenant", async () => {
  await using database = await createTestDatabase();
  await using dns = await startDnsServer({ ...DNS, ...leadingTo('silent.example') });
  await using receiver = await startSmtpReceiver();
  await using silent = await silentReceiver(receiver.port);
  const { pool } = database;
  const clock = systemClock;
  const nowMs = clock.now();
  const slow = await newWorkspace(pool, nowMs);
  const other = await newWorkspace(pool, nowMs);
  const mail = (workspaceId: string, recipient: string, size: number) => ({
    workspaceId,
    nowMs,
    recipients: [recipient],
    html: 'x'.repeat(size),
  });
  const live = unsignedRoute(dns, receiver);
  const limits = { contentBytesMax: 100_000, inFlightMax: 20 };
  await using node = startEngine({ url: database.url, clock, live, limits });
  const { engine } = node;
  await enqueue(pool, [mail(slow, 'one@silent.example', 60_000)]);
  engine.wake();
  await silent.until(() => silent.sessions.length >= 1);
  await enqueue(pool, [mail(slow, 'two@silent.example', 60_000)]);
  engine.wake();
  await until(() => engine.stats.inFlight === 2);
  await enqueue(pool, [mail(other, 'large@small.example', 30_000)]);
  engine.wake();
  await receiver.untilMessages(1);
  await until(() => engine.stats.delivered === 1);
  expect(engine.stats.contentBytes).toBe(60_000);
});

/** Records of domains whose mail goes to `silentReceiver`. */
function leadingTo(...domains: string[]): typeof DNS {
  const records: typeof DNS = {};
  for (const domain of domains) {
    records[domain] = { MX: [`10 mx.${domain}`] };
    records[`mx.${domain}`] = { A: ['127.0.0.2'], ttlSeconds: 60 };
  }
  return records;
}

/** Accepts the connection and never replies to RCPT. */
function silentReceiver(port: number): ReturnType<typeof startSmtpReceiver> {
  return startSmtpReceiver({ host: '127.0.0.2', port, onRcpt: () => SILENCE });
}

function unsignedRoute({ address }: { address: string }, { port }: { port: number }) {
  return signedLiveRoute({
    clock: systemClock,
    dns: address,
    mxPort: port,
    senders: unsignedSenders,
  });
}
