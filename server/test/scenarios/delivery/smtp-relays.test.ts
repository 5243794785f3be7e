import { expect, test } from 'vitest';
import type { RouteSetting } from '../../../src/delivery/transport/delivery-route.ts';
import { setUpDelivery } from '../../harness/delivery/delivery-setup.ts';
import { expectSigned } from '../../harness/delivery/signed-live-route.ts';
import { startSmtpReceiver } from '../../harness/smtp/smtp-receiver.ts';
import { tlsFixtures } from '../../harness/smtp/tls-fixtures.ts';

/**
 * Mail can be sent through relays where port 25 is blocked, and a relay's rejection of this server is never
 * attributed to the recipient. Relays are scripted; the domain's own servers exist and must not be contacted.
 */

function relay(port: number, more: Partial<Extract<RouteSetting, { kind: 'relay' }>> = {}) {
  return {
    kind: 'relay' as const,
    host: '127.0.0.1',
    port,
    tls: 'opportunistic' as const,
    ...more,
  };
}

test('a relay with credentials gets all mail, whatever the MX', async () => {
  const seen: string[] = [];
  await using post = await startSmtpReceiver({
    tls: tlsFixtures.good,
    keywords: ['AUTH PLAIN'],
    onAuth: (user, password) => {
      seen.push(`${user}:${password}`);
      return undefined;
    },
  });
  await using setup = await setUpDelivery({
    additionalReceivers: [post],
    routes: [relay(post.port, { tls: 'required', auth: { user: 'us', password: 'secret' } })],
  });
  const id = await setup.send({ recipients: ['a@example.org', 'b@nowhere.example'] });
  const states = await setup.waitForStatus(id);
  expect(states.map((state) => state.status)).toEqual(['delivered', 'delivered']);
  expect(seen[0]).toBe('us:secret');
  expect(setup.receiver.sessions).toHaveLength(0);
  expect(post.messages[0]?.tls).not.toBeNull();
  await expectSigned(post.messages[0]?.raw as Buffer);
  for (const attempt of await setup.attempts(id))
    expect(attempt.transcript).not.toContain('secret');
});

test('implicit TLS', async () => {
  await using post = await startSmtpReceiver({ tls: tlsFixtures.good, implicitTls: true });
  await using setup = await setUpDelivery({
    additionalReceivers: [post],
    routes: [relay(post.port, { tls: 'implicit' })],
  });
  const id = await setup.send();
  expect((await setup.waitForStatus(id))[0]?.status).toBe('delivered');
  expect(post.messages[0]?.tls).not.toBeNull();
});

test('a relay that rejects the password: deferred, nothing suppressed, no password recorded', async () => {
  let right = 'old';
  await using post = await startSmtpReceiver({
    tls: tlsFixtures.good,
    keywords: ['AUTH PLAIN LOGIN'],
    onAuth: (_user, password) =>
      password === right ? undefined : '535 5.7.8 Authentication credentials invalid',
  });
  await using setup = await setUpDelivery({
    additionalReceivers: [post],
    routes: [relay(post.port, { auth: { user: 'us', password: 'new-secret' } })],
  });
  const id = await setup.send();
  await setup.waitForStatus(id, 'deferred');
  const [attempt] = await setup.attempts(id);
  expect(attempt?.bounce).toMatchObject({ class: 'soft', reason: 'relaying_denied' });
  expect(attempt?.bounce?.explanation).toContain('DELIVERY_ROUTE');
  expect(JSON.stringify(attempt)).not.toMatch(/new-secret|bmV3LXNlY3JldA|AHVzAG5ldy/);
  expect((await setup.database.pool.query('select from suppressions')).rowCount).toBe(0);
  right = 'new-secret';
  expect((await setup.waitForStatus(id))[0]?.status).toBe('delivered');
});

test('the second relay is the fallback of the first, and direct delivery of both', async () => {
  await using first = await startSmtpReceiver();
  await using second = await startSmtpReceiver({ onConnect: () => '421 Not now' });
  await using setup = await setUpDelivery({
    additionalReceivers: [first, second],
    routes: [relay(first.port), relay(second.port), { kind: 'direct' }],
  });
  first.script.port = first.port;
  await first.close();
  const one = await setup.send();
  expect((await setup.waitForStatus(one))[0]).toMatchObject({ status: 'delivered', attempts: 1 });
  expect(second.sessions.length).toBeGreaterThan(0);
  expect(setup.receiver.messages).toHaveLength(1);

  second.script.onConnect = () => undefined;
  setup.clock.advance(60_000);
  const two = await setup.send();
  expect((await setup.waitForStatus(two))[0]?.status).toBe('delivered');
  expect(second.messages).toHaveLength(1);

  await first.listen();
  setup.clock.advance(60_000);
  const three = await setup.send();
  expect((await setup.waitForStatus(three))[0]?.status).toBe('delivered');
  expect(first.messages).toHaveLength(1);
});

test('a second account at the same relay is a fallback too', async () => {
  await using post = await startSmtpReceiver({
    keywords: ['AUTH PLAIN'],
    onAuth: (user) => (user === 'old' ? '535 Incorrect authentication data' : undefined),
  });
  const accounts = ['old', 'new'].map((user) => ({ user, password: 'secret' }));
  await using setup = await setUpDelivery({
    additionalReceivers: [post],
    routes: accounts.map((auth) => relay(post.port, { auth })),
  });
  const id = await setup.send();
  expect((await setup.waitForStatus(id))[0]).toMatchObject({ status: 'delivered', attempts: 1 });
});

test("a relay's rejection of a recipient is a normal bounce", async () => {
  await using post = await startSmtpReceiver({ onRcpt: () => '550 5.1.1 No such user' });
  await using setup = await setUpDelivery({ routes: [relay(post.port)] });
  const id = await setup.send();
  expect((await setup.waitForStatus(id))[0]).toMatchObject({
    status: 'bounced',
    reason: 'unknown_mailbox',
  });
});

test('a relay that is down is not tried for every message, and less and less often', async () => {
  await using down = await startSmtpReceiver({ onConnect: () => '421 Not now' });
  await using setup = await setUpDelivery({
    additionalReceivers: [down],
    routes: [relay(down.port), { kind: 'direct' }],
  });
  const delivered = async () => {
    const id = await setup.send();
    expect((await setup.waitForStatus(id))[0]).toMatchObject({ status: 'delivered', attempts: 1 });
    return (await setup.attempts(id))[0]?.transcript ?? '';
  };
  await delivered();
  expect(down.sessions).toHaveLength(1);
  expect(await delivered()).toContain('s ago, skipped');
  expect(down.sessions).toHaveLength(1);
  // Tried again after half a minute, then only after twice that time.
  setup.clock.advance(31_000);
  await delivered();
  expect(down.sessions).toHaveLength(2);
  setup.clock.advance(31_000);
  expect(await delivered()).toContain('s ago, skipped');
  setup.clock.advance(31_000);
  await delivered();
  expect(down.sessions).toHaveLength(3);
  // Once it has recovered it gets all mail again, and the next failure counts as the first.
  delete down.script.onConnect;
  setup.clock.advance(300_000);
  await delivered();
  expect(down.messages).toHaveLength(1);
});
