import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApp, type TestApp } from '../../harness/app.ts';
import { SubmissionClient } from '../../harness/smtp/submission-client.ts';
import { tlsFixtures } from '../../harness/smtp/tls-fixtures.ts';
import { createTempDir } from '../../harness/temp-dir.ts';

/**
 * Behind a proxy that speaks the PROXY protocol, the client's own address counts for limits, allowed networks
 * and unencrypted authentication, and TLS that is terminated at the proxy counts as TLS; no one else can claim
 * an address or encryption. 127.0.0.1 is a trusted proxy, 127.0.0.2 is not; raw headers on real sockets.
 */

const PROXY = '127.0.0.1';
const UNTRUSTED = '127.0.0.2';
const CLIENT = '203.0.113.7';
const TLS = { ca: tlsFixtures.authority, servername: 'localhost' };
const MAIL = 'From: hello@example.org\r\nTo: a@example.com\r\nSubject: Hi\r\n\r\nHello';
const PER_SOURCE = 5;

let folder: Awaited<ReturnType<typeof createTempDir>>;
let app: TestApp;
let port: number;

beforeAll(async () => {
  folder = await createTempDir();
  await writeFile(path.join(folder.path, 'cert.pem'), tlsFixtures.good.cert);
  await writeFile(path.join(folder.path, 'key.pem'), tlsFixtures.good.key);
  app = await startBehindProxy();
  port = app.app.submission.port as number;
});
afterAll(async () => {
  await app?.[Symbol.asyncDispose]();
  await folder?.[Symbol.asyncDispose]();
});

function startBehindProxy(limits: { handshakeMs?: number } = {}): Promise<TestApp> {
  return startApp({
    env: {
      SUBMISSION_PORT: '0',
      SUBMISSION_TLS_PORT: '0',
      RETURN_PATH_PORT: '0',
      SUBMISSION_TLS_CERT: path.join(folder.path, 'cert.pem'),
      SUBMISSION_TLS_KEY: path.join(folder.path, 'key.pem'),
      SUBMISSION_TRUST_PROXY: PROXY,
      RETURN_PATH_TRUST_PROXY: PROXY,
      SUBMISSION_CONNECTIONS_PER_SOURCE: String(PER_SOURCE),
      RETURN_PATH_CONNECTIONS_PER_SOURCE: String(PER_SOURCE),
    },
    submission: { authFailureDelayMs: 5, ...limits },
    returnPath: limits,
  });
}

function line(client: string): string {
  const family = client.includes(':') ? 'TCP6' : 'TCP4';
  return `PROXY ${family} ${client} ${family === 'TCP6' ? '::1' : '192.0.2.1'} 50000 587\r\n`;
}

function block(client: string, additions: readonly number[] = []): Buffer {
  const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
  const addresses = [...client.split('.').map(Number), 192, 0, 2, 1, 195, 80, 2, 75];
  const rest = [...addresses, ...additions];
  return Buffer.concat([signature, Buffer.from([0x21, 0x11, 0, rest.length, ...rest])]);
}

/** The TLV that HAProxy adds with `send-proxy-v2-ssl`: whether its client uses TLS. */
function ssl(flags: number): number[] {
  return [0x20, 0, 5, flags, 0, 0, 0, 1];
}

async function connect(
  from: string,
  to = port,
): Promise<{ socket: net.Socket; client: SubmissionClient }> {
  const socket = net.connect({ port: to, host: '127.0.0.1', localAddress: from });
  const client = new SubmissionClient(socket);
  await once(socket, 'connect');
  return { socket, client };
}

/** Connects as a proxy does. */
async function proxied(header: string | Buffer, to = port): Promise<SubmissionClient> {
  const { client } = await connect(PROXY, to);
  client.write(header);
  return client;
}

/** Connected, after the greeting and EHLO. */
async function offered(client: SubmissionClient): Promise<string[]> {
  expect((await client.reply()).code).toBe(220);
  return (await client.command('EHLO x')).lines;
}

async function secured(client: SubmissionClient): Promise<void> {
  expect(await offered(client)).toContain('STARTTLS');
  expect((await client.command('STARTTLS')).code).toBe(220);
  await client.startTls(TLS);
  await client.command('EHLO x');
}

describe('the client address in the header', () => {
  test.each([
    ['version 1', line(CLIENT), line('198.51.100.1')],
    ['version 2', block(CLIENT), block('198.51.100.1')],
  ])('decides where a key may be used from: %s', async (_name, header, other) => {
    const key = await app.newKey({ allowedIps: ['203.0.113.0/24'] });
    using client = await proxied(header);
    await secured(client);
    expect((await client.login(key)).code).toBe(235);
    expect((await client.send({ to: ['a@example.com'], data: MAIL })).code).toBe(250);
    using elsewhere = await proxied(other);
    await secured(elsewhere);
    expect(await elsewhere.login(key)).toMatchObject({
      code: 535,
      text: expect.stringContaining('198.51.100.1'),
    });
  });

  test('has its own limits, whatever else the proxy forwards', async () => {
    for (const to of [port, app.app.returnPath.address?.port]) {
      const many = Array.from({ length: PER_SOURCE }, () => proxied(line('203.0.113.20'), to));
      const there = await Promise.all(many);
      await Promise.all(there.map(offered));
      using tooMany = await proxied(line('203.0.113.20'), to);
      expect((await tooMany.reply()).code).toBe(421);
      using sibling = await proxied(line('203.0.113.21'), to);
      expect((await sibling.reply()).code).toBe(220);
      for (const client of there) client[Symbol.dispose]();
    }
  });

  test('may arrive in pieces', async () => {
    for (const header of [line(CLIENT), block(CLIENT)]) {
      using client = await proxied('');
      for (const byte of Buffer.from(header as string, 'latin1')) {
        client.write(Buffer.from([byte]));
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect(await offered(client)).not.toContain('AUTH PLAIN LOGIN');
    }
  });
});

describe('an unencrypted key', () => {
  test('is rejected from a remote client behind a local proxy', async () => {
    for (const header of [line(CLIENT), block(CLIENT), line('2001:db8::7')]) {
      using client = await proxied(header);
      expect((await offered(client)).join()).not.toContain('AUTH');
      expect((await client.login(app.testKey)).code).toBe(538);
    }
  });

  test('is accepted if client and proxy are local, but not if the client is unknown', async () => {
    using near = await proxied(line('127.0.0.1'));
    expect(await offered(near)).toContain('AUTH PLAIN LOGIN');
    expect((await near.login(app.testKey)).code).toBe(235);
    using unknown = await proxied('PROXY UNKNOWN\r\n');
    expect((await offered(unknown)).join()).not.toContain('AUTH');
  });

  test('is rejected from a proxy on another machine, whatever its header says', async () => {
    await using far = await startApp({
      env: { SUBMISSION_PORT: '0', SUBMISSION_TRUST_PROXY: PROXY },
      submission: { isLocal: (ip) => ip === '127.0.0.9' },
    });
    using client = await proxied(line('127.0.0.9'), far.app.submission.port as number);
    expect((await offered(client)).join()).not.toContain('AUTH');
    expect((await client.login(far.testKey)).code).toBe(538);
  });
});

describe('TLS terminated at the proxy', () => {
  test('allows authentication, and STARTTLS is not offered', async () => {
    const key = await app.newKey({ allowedIps: ['203.0.113.0/24'] });
    using client = await proxied(block(CLIENT, ssl(0x01)));
    const lines = await offered(client);
    expect(lines).toContain('AUTH PLAIN LOGIN');
    expect(lines).not.toContain('STARTTLS');
    expect((await client.command('STARTTLS')).code).toBe(503);
    expect((await client.login(key)).code).toBe(235);
    expect((await client.send({ to: ['a@example.com'], data: MAIL })).code).toBe(250);
  });

  test('is indicated by one bit', async () => {
    for (const additions of [ssl(0x00), ssl(0x06), [...ssl(0x01), ...ssl(0x00)]]) {
      using client = await proxied(block(CLIENT, additions));
      const lines = await offered(client);
      expect(lines.join()).not.toContain('AUTH');
      expect(lines).toContain('STARTTLS');
      expect((await client.login(app.testKey)).code).toBe(538);
    }
  });

  test('is accepted from trusted proxies only', async () => {
    await using far = await startApp({
      env: { SUBMISSION_PORT: '0', SUBMISSION_TRUST_PROXY: PROXY },
      submission: { isLocal: () => false },
    });
    const { client } = await connect(UNTRUSTED, far.app.submission.port as number);
    using untrusted = client;
    expect((await untrusted.reply()).code).toBe(220);
    untrusted.write(block(CLIENT, ssl(0x01)));
    untrusted.write('EHLO x\r\n');
    const codes: number[] = [];
    do codes.push((await untrusted.reply()).code);
    while (codes.at(-1) !== 0);
    // Servers without the PROXY protocol read QUIT in its signature, by design.
    expect(codes.slice(-2)).toEqual([221, 0]);
  });
});

describe('untrusted clients', () => {
  test('a PROXY header from an untrusted client is an invalid command', async () => {
    const { client } = await connect(UNTRUSTED);
    using untrusted = client;
    expect((await untrusted.reply()).code).toBe(220);
    const { code } = await untrusted.command(line(CLIENT).trimEnd());
    expect(code).toBeGreaterThanOrEqual(400);
    const key = await app.newKey({ allowedIps: ['203.0.113.0/24'] });
    expect((await untrusted.command('EHLO x')).code).toBe(250);
    expect(await untrusted.login(key)).toMatchObject({
      code: 535,
      text: expect.stringContaining(UNTRUSTED),
    });
  });

  test('a second header is an invalid command', async () => {
    using client = await proxied(line(CLIENT));
    expect((await client.reply()).code).toBe(220);
    expect((await client.command(line('127.0.0.1').trimEnd())).code).toBe(500);
    expect((await client.command('EHLO x')).lines.join()).not.toContain('AUTH');
  });
});

describe('a proxy with an invalid header that', () => {
  let strict: TestApp;
  beforeAll(async () => {
    strict = await startBehindProxy({ handshakeMs: 100 });
  });
  afterAll(() => strict[Symbol.asyncDispose]());

  test.each([
    ['says nothing', ''],
    ['is incomplete', 'PROXY TCP4 203.0.113.7 '],
    ['is missing', 'EHLO x\r\n'],
    ['is malformed', 'PROXY TCP4 localhost 192.0.2.1 1 2\r\n'],
    ['never ends', `PROXY ${'x'.repeat(100_000)}`],
    ['has no addresses', block(CLIENT).subarray(0, 16)],
    ['has a truncated TLS field', block(CLIENT, [0x20, 0, 5, 0x01])],
  ])('%s is disconnected without a reply', async (_name, bytes) => {
    const { submission, returnPath } = strict.app;
    for (const to of [submission.port, submission.tlsPort, returnPath.address?.port]) {
      using client = await proxied(bytes, to);
      expect(await client.reply()).toEqual({ code: 0, lines: [], text: '' });
    }
    const greeting = async () => {
      using good = await proxied(line(CLIENT), submission.port);
      return (await good.reply()).code;
    };
    // On a busy machine, a good header may be late too.
    await expect.poll(greeting).toBe(220);
  });

  test('ends with a half-closed connection is disconnected', async () => {
    const { socket, client } = await connect(PROXY);
    socket.end('PROXY TC');
    expect((await client.reply()).code).toBe(0);
  });
});

test('with implicit TLS the header comes first, also in one packet with the handshake', async () => {
  const server = net.createServer((from) => {
    from.once('data', (first: Buffer) => {
      const upstream = net.connect(app.app.submission.tlsPort as number, '127.0.0.1');
      upstream.write(Buffer.concat([Buffer.from(line(CLIENT)), first]));
      from.pipe(upstream).pipe(from);
      for (const socket of [from, upstream]) socket.on('error', () => {});
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port: proxyPort } = server.address() as net.AddressInfo;
  const key = await app.newKey({ allowedIps: ['203.0.113.0/24'] });
  using client = await SubmissionClient.connectTls(proxyPort, TLS);
  expect(await offered(client)).toContain('AUTH PLAIN LOGIN');
  expect((await client.login(key)).code).toBe(235);
  expect((await client.send({ to: ['a@example.com'], data: MAIL })).code).toBe(250);
  server.close();
});
