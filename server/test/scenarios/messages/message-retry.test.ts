import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import { until } from '../../harness/delivery/delivery-engine.ts';
import { signedLiveRoute } from '../../harness/delivery/signed-live-route.ts';
import { type ScriptedDnsServer, startDnsServer } from '../../harness/smtp/dns-server.ts';
import { type SmtpReceiver, startSmtpReceiver } from '../../harness/smtp/smtp-receiver.ts';

/**
 * A requested retry starts immediately, with a full delivery window if the previous cycle had ended, and
 * with the remaining one if not. The whole server runs with a receiver that defers or rejects, and a clock
 * moved to the limits; everything goes through the API.
 */

const clock = new ManualClock(systemClock.now());
let app: TestApp;
let dns: ScriptedDnsServer;
let receiver: SmtpReceiver;
let answer: string | undefined = '451 4.3.0 Not now';

beforeAll(async () => {
  receiver = await startSmtpReceiver({ onRcpt: () => answer });
  dns = await startDnsServer({
    'example.com': { MX: ['10 mx.example.test'] },
    'mx.example.test': { A: ['127.0.0.1'] },
  });
  app = await startApp({
    clock,
    liveRoute: signedLiveRoute({ clock, dns: dns.address, mxPort: receiver.port }),
  });
  await app.app.domains.trust(app.workspaceId, { name: 'example.org' });
});

afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await dns[Symbol.asyncDispose]();
  await receiver.close();
});

async function send(more: object): Promise<string> {
  const sent = await app.call('POST', '/transactional/send', {
    key: app.liveKey,
    body: validMessage({ ...more }),
  });
  expect(sent.status).toBe(202);
  return sent.json.id;
}

async function retry(id: string) {
  return app.call('POST', `/messages/${id}/retry`, { key: app.liveKey });
}

/** Advances the clock until the status is reached after at least this many attempts. */
async function becomes(id: string, status: string, attempts: number, stepMs = 500): Promise<void> {
  const reached = async () => {
    const { json } = await app.call('GET', `/messages/${id}`, { key: app.liveKey });
    return json.status === status && json.recipients[0].attempts >= attempts;
  };
  await until(reached, { clock, stepMs, what: `${id} ${status}` });
}

async function timeline(id: string): Promise<{ type: string; atMs: number; nextAtMs: number }[]> {
  const { json } = await app.call('GET', `/events?message_id=${id}&limit=100`, {
    key: app.liveKey,
  });
  return json.data.map((event: Event) => ({
    type: event.type.replace('message.', ''),
    atMs: Date.parse(event.created_at),
    nextAtMs: Date.parse(event.data.next_attempt_at ?? ''),
  }));
}

interface Event {
  type: string;
  created_at: string;
  data: { next_attempt_at?: string };
}

test('an expired message gets its full ttl_seconds again, counted from the retry', async () => {
  answer = '451 4.3.0 Not now';
  const id = await send({ ttl_seconds: 100 });
  await becomes(id, 'expired', 1);
  clock.advance(3_600_000);
  const before = (await timeline(id)).length;
  const retriedAtMs = clock.now();
  expect((await retry(id)).json.status).toBe('queued');
  await becomes(id, 'expired', 2);
  const run = (await timeline(id)).slice(before);
  expect(run.at(-1)?.type).toBe('expired');
  expect(run.filter(({ type }) => type !== 'deferred')).toHaveLength(1);
  const lastedMs = (run.at(-1)?.atMs ?? 0) - retriedAtMs;
  expect(lastedMs).toBeGreaterThanOrEqual(100_000);
  // The clock advances while the outcome is written.
  expect(lastedMs).toBeLessThan(150_000);
  // The backoff starts over too: about a minute, not the hours of an old message.
  const [first] = run;
  expect(first?.type).toBe('deferred');
  const waitMs = (first?.nextAtMs ?? 0) - (first?.atMs ?? 0);
  expect(waitMs).toBeGreaterThanOrEqual(48_000);
  expect(waitMs).toBeLessThanOrEqual(72_000);
});

test('a deferred message is attempted immediately and keeps its expiry', async () => {
  answer = '451 4.3.0 Not now';
  const startMs = clock.now();
  const id = await send({ ttl_seconds: 200, to: { email: 'deferred@example.com' } });
  await becomes(id, 'deferred', 1);
  clock.advance(30_000);
  const requestedAtMs = clock.now();
  expect((await retry(id)).status).toBe(200);
  await becomes(id, 'deferred', 2, 50);
  const { json } = await app.call('GET', `/messages/${id}/attempts`, { key: app.liveKey });
  expect(Date.parse(json.data[1].started_at) - requestedAtMs).toBeLessThan(10_000);
  await becomes(id, 'expired', 2);
  const end = (await timeline(id)).at(-1);
  expect((end?.atMs ?? 0) - startMs).toBeGreaterThanOrEqual(200_000);
  // Counted from the retry, it would be half a minute later.
  expect((end?.atMs ?? 0) - startMs).toBeLessThan(225_000);
});

test('after a hard bounce the suppression takes precedence', async () => {
  answer = '550 5.1.1 No such user';
  const email = 'gone@example.com';
  const id = await send({ to: { email } });
  await becomes(id, 'bounced', 1);
  answer = undefined;
  const lifted = await app.call('DELETE', `/suppressions?email=${email}`, { key: app.liveKey });
  expect(lifted.status).toBe(204);
  expect((await retry(id)).json.status).toBe('queued');
  await becomes(id, 'delivered', 2);
  expect((await retry(id)).json.code).toBe('not_retryable');

  answer = '550 5.1.1 No such user';
  const other = await send({ to: { email: 'also-gone@example.com' } });
  await becomes(other, 'bounced', 1);
  const commandCount = receiver.sessions.flatMap(({ commands }) => commands).length;
  await retry(other);
  await becomes(other, 'suppressed', 1);
  const since = receiver.sessions.flatMap(({ commands }) => commands).slice(commandCount);
  expect(since.filter((command) => command.startsWith('RCPT'))).toEqual([]);
});
