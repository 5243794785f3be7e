import { describe, expect, test } from 'vitest';
import { encodeId } from '../../../src/lib/ids.ts';
import { startApp, type TestApp, validMessage } from '../../harness/app.ts';
import { ROUTER_TOKEN } from '../../harness/database/cells.ts';
import { freePort } from '../../harness/free-port.ts';
import { startCuttingProxy } from '../../harness/smtp/cutting-proxy.ts';
import { startDnsServer } from '../../harness/smtp/dns-server.ts';
import { connectAndGreet } from '../../harness/smtp/return-path-setup.ts';
import { startSmtpReceiver } from '../../harness/smtp/smtp-receiver.ts';
import { until } from '../../harness/until.ts';

/**
 * Mail to a domain whose MX is this server bounces with an explanation instead of looping, unless a
 * workspace receives the mail of the domain. The whole
 * server runs with its ports open; the scripted name server returns one of them as MX, recognized by
 * address or by greeting.
 */

async function bounceOf(app: TestApp) {
  await app.app.domains.trust(app.workspaceId, { name: 'example.org' });
  const sent = await app.call('POST', '/transactional/send', {
    key: app.liveKey,
    body: validMessage(),
  });
  const look = async () =>
    (await app.call('GET', `/messages/${sent.json.id}`, { key: app.liveKey })).json;
  await until(async () => (await look()).status === 'bounced');
  const attempts = await app.call('GET', `/messages/${sent.json.id}/attempts`, {
    key: app.liveKey,
  });
  const dialog = attempts.json.data[0].transcript
    .map(({ text }: { text: string }) => text)
    .join('\n');
  return { recipient: (await look()).recipients[0], words: dialog };
}

const ZONE = {
  'example.com': { MX: ['10 mx1.example.test'] },
  'mx1.example.test': { A: ['127.0.0.1'] },
};
const LOOP = { reason: 'protocol_error', smtp: { enhanced: '5.4.6' } };

test.each([
  ['RETURN_PATH_PORT', 'off'],
  ['SUBMISSION_PORT', 'off'],
  ['RETURN_PATH_PORT', 'on'],
])(
  'an MX at our own %s is not contacted, with DELIVERY_THREAD %s',
  async (portKind, DELIVERY_THREAD) => {
    await using dns = await startDnsServer(ZONE);
    const port = String(await freePort());
    await using app = await startApp({
      env: {
        DNS_SERVERS: dns.address,
        MX_PORT: port,
        [portKind]: port,
        HELO_NAME: 'mail.house.test',
        DELIVERY_THREAD,
      },
    });
    const { recipient, words: dialog } = await bounceOf(app);
    expect(recipient).toMatchObject(LOOP);
    expect(dialog).toContain('] is this server.');
    expect(dialog).not.toContain('220 ');
  },
);

test('an MX that greets with our own name is a loop, wherever it listens', async () => {
  await using dns = await startDnsServer(ZONE);
  const HELO_NAME = 'mail.house.test';
  // Another node of this installation, behind a redirected port.
  await using node = await startApp({ env: { RETURN_PATH_PORT: '0', HELO_NAME } });
  const port = String(node.app.returnPath.address?.port);
  await using app = await startApp({ env: { DNS_SERVERS: dns.address, MX_PORT: port, HELO_NAME } });
  const { recipient, words: dialog } = await bounceOf(app);
  expect(recipient).toMatchObject(LOOP);
  expect(dialog).toContain("identified itself with this server's own name");
});

test('behind a router, another server that does not know the recipient is not a loop', async () => {
  await using dns = await startDnsServer({
    'example.com': { MX: ['10 own.example.test', '20 other.example.test'] },
    'own.example.test': { A: ['127.0.0.1'] },
    'other.example.test': { A: ['127.0.0.2'] },
  });
  await using other = await startSmtpReceiver({
    host: '127.0.0.2',
    port: await freePort(),
    onRcpt: () => '550 5.1.1 No such user',
  });
  const port = String(other.port);
  await using app = await startApp({
    env: {
      DNS_SERVERS: dns.address,
      MX_PORT: port,
      RETURN_PATH_HOST: '127.0.0.1',
      RETURN_PATH_PORT: port,
      RETURN_PATH_CONNECTIONS_MAX: '1',
      ROUTER_TOKEN,
    },
  });
  // The first server is this one, and has no connection left.
  using _client = await connectAndGreet(other.port);
  const { recipient } = await bounceOf(app);
  expect(recipient).toMatchObject({ reason: 'unknown_mailbox', smtp: { enhanced: '5.1.1' } });
});

describe('mail to a domain that a workspace receives mail for', () => {
  async function sendAndWait(app: TestApp) {
    const key = app.liveKey;
    const sent = await app.call('POST', '/transactional/send', { key, body: validMessage() });
    const look = async () => (await app.call('GET', `/messages/${sent.json.id}`, { key })).json;
    await until(async () => !['queued', 'deferred'].includes((await look()).status));
    return await look();
  }

  async function expectReceived(app: TestApp): Promise<void> {
    const { id } = await app.app.domains.trust(app.workspaceId, { name: 'example.com' });
    const key = app.liveKey;
    const path = `/domains/${encodeId('dom', id)}`;
    await app.call('PATCH', path, { key, body: { receiving: true } });
    await app.app.domains.trust(app.workspaceId, { name: 'example.org' });
    const { status, subject } = await sendAndWait(app);
    expect(status).toBe('delivered');
    const received = await app.call('GET', '/inbound-messages', { key });
    expect(received.json.data).toMatchObject([{ domain: 'example.com', subject }]);
  }

  test.each(['off', 'on'])('arrives at our own port, with DELIVERY_THREAD %s', async (thread) => {
    await using dns = await startDnsServer(ZONE);
    const port = String(await freePort());
    const listeners = { MX_PORT: port, RETURN_PATH_PORT: port, HELO_NAME: 'mail.house.test' };
    await using app = await startApp({
      env: { ...listeners, DNS_SERVERS: dns.address, DELIVERY_THREAD: thread },
    });
    await expectReceived(app);
  });

  test('arrives at a server that greets with our own name', async () => {
    await using dns = await startDnsServer(ZONE);
    const own = await freePort();
    await using redirected = await startCuttingProxy(own);
    await using app = await startApp({
      env: {
        DNS_SERVERS: dns.address,
        MX_PORT: String(redirected.port),
        RETURN_PATH_PORT: String(own),
        HELO_NAME: 'mail.house.test',
      },
    });
    // What is remembered about the server from before is not about mail that is received.
    await app.app.domains.trust(app.workspaceId, { name: 'example.org' });
    expect((await sendAndWait(app)).recipients).toMatchObject([LOOP]);
    await expectReceived(app);
  });
});
