import { expect, test } from 'vitest';
import { startApp, validMessage } from '../../harness/app.ts';
import { setUpDelivery } from '../../harness/delivery/delivery-setup.ts';
import { startReturnPathServer } from '../../harness/smtp/return-path-setup.ts';
import { startSmtpReceiver } from '../../harness/smtp/smtp-receiver.ts';
import { until } from '../../harness/until.ts';

/**
 * On a machine with several addresses, mail is sent from the configured one, and a disabled address family
 * is never used. Receivers listen on loopback, which has many addresses; the tests read the attempts.
 */
const NOT_BY_IPV6 = { ipv4: 'any', ipv6: undefined };
const NOT_BY_IPV4 = { ipv4: undefined, ipv6: 'any' };

test('direct delivery uses it, and the attempt records it', async () => {
  await using setup = await setUpDelivery({ outgoing: { ipv4: '127.0.0.9', ipv6: undefined } });
  const id = await setup.send();
  await setup.waitForStatus(id, 'delivered');
  expect(setup.receiver.sessions.map(({ from }) => from)).toEqual(['127.0.0.9']);
  const [attempt] = await setup.attempts(id);
  expect(attempt?.transcript).toMatch(/connecting to mx1\S* \S+ from 127\.0\.0\.9\)/);
});

test('relays use it', async () => {
  await using post = await startSmtpReceiver();
  await using setup = await setUpDelivery({
    additionalReceivers: [post],
    outgoing: { ipv4: '127.0.0.9', ipv6: undefined },
    routes: [{ kind: 'relay', host: 'localhost', port: post.port, tls: 'opportunistic' }],
  });
  await setup.waitForStatus(await setup.send(), 'delivered');
  expect(post.sessions.map(({ from }) => from)).toEqual(['127.0.0.9']);
});

test('IPv4 only: a server with both families is reached immediately', async () => {
  await using setup = await setUpDelivery({ outgoing: NOT_BY_IPV6 });
  setup.dns.set('mx1.example.test', 'AAAA', ['2001:db8::1']);
  setup.receiver.script.onConnect = () => '421 Later';
  const id = await setup.send();
  await setup.waitForStatus(id, 'deferred');
  expect((await setup.attempts(id))[0]?.transcript).not.toContain('2001:db8::1');
});

test('a domain without an address of the enabled family: deferred, not an unknown domain', async () => {
  await using setup = await setUpDelivery({ outgoing: NOT_BY_IPV4 });
  const id = await setup.send();
  await setup.waitForStatus(id, 'deferred');
  const [attempt] = await setup.attempts(id);
  expect(attempt?.bounce).toMatchObject({ class: 'soft', reason: 'network_unreachable' });
  expect(attempt?.bounce?.explanation).toContain('OUTGOING_ADDRESSES');
  expect(setup.receiver.sessions).toHaveLength(0);
});

test('a relay without an address of the enabled family: deferred', async () => {
  await using setup = await setUpDelivery({
    outgoing: NOT_BY_IPV4,
    routes: [{ kind: 'relay', host: '127.0.0.1', port: 1, tls: 'opportunistic' }],
  });
  const id = await setup.send();
  await setup.waitForStatus(id, 'deferred');
  expect((await setup.attempts(id))[0]?.bounce?.explanation).toContain('No relay could be reached');
});

test('a stream can send from an address and under a name of its own', async () => {
  const STREAM_ROUTES =
    'bulk=direct?address=127.0.0.9&helo=bulk.sender.test, slow=direct?address=127.0.0.8';
  await using server = await startReturnPathServer({ env: { STREAM_ROUTES } });
  const { app, receiver } = server;
  const key = app.liveKey;
  const send = async (stream: string, route: string | null) => {
    const body = { key: stream, purpose: 'transactional', route };
    expect((await app.call('POST', '/streams', { key, body })).status).toBe(201);
    const sent = await app.call('POST', '/transactional/send', {
      key,
      body: validMessage({ stream }),
    });
    await until(async () => (await server.message(sent.json.id)).status === 'delivered');
    const session = receiver.sessions.at(-1);
    return [session?.from, session?.heloName];
  };
  expect(await send('digest', 'bulk')).toEqual(['127.0.0.9', 'bulk.sender.test']);
  expect(await send('reports', 'slow')).toEqual(['127.0.0.8', 'mail.house.test']);
  expect(await send('receipts', null)).toEqual(['127.0.0.1', 'mail.house.test']);
});

test('a route never delivers to the listeners of its own server', async () => {
  await using server = await startReturnPathServer({
    env: { STREAM_ROUTES: 'bulk=direct?address=127.0.0.9&helo=bulk.sender.test' },
    script: { onEhlo: () => '250 mail.house.test' },
  });
  const key = server.app.liveKey;
  const body = { key: 'digest', purpose: 'transactional', route: 'bulk' };
  await server.app.call('POST', '/streams', { key, body });
  const message = validMessage({ stream: 'digest' });
  const { json } = await server.app.call('POST', '/transactional/send', { key, body: message });
  await until(async () => (await server.message(json.id)).status !== 'queued');
  expect(server.receiver.messages).toHaveLength(0);
});

test('an address that is not local prevents the start', async () => {
  await expect(
    startApp({ env: { STREAM_ROUTES: 'bulk=direct?address=192.0.2.1' } }),
  ).rejects.toThrow('STREAM_ROUTES: 192.0.2.1 is not an address of this machine.');
  await expect(startApp({ env: { OUTGOING_ADDRESSES: '192.0.2.1' } })).rejects.toThrow(
    'OUTGOING_ADDRESSES: 192.0.2.1 is not an address of this machine.',
  );
});
