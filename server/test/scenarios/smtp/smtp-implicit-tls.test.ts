import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApp, type TestApp, type TestAppOptions } from '../../harness/app.ts';
import { freePort } from '../../harness/free-port.ts';
import { SubmissionClient } from '../../harness/smtp/submission-client.ts';
import { tlsFixtures } from '../../harness/smtp/tls-fixtures.ts';
import { createTempDir } from '../../harness/temp-dir.ts';

/**
 * The second submission port uses implicit TLS (RFC 8314) and otherwise behaves like the first; clients that do not
 * start TLS get no reply, block no one and are disconnected.
 */

const MAIL = 'From: hello@example.org\r\nTo: a@example.com\r\nSubject: Hi\r\n\r\nHello';
const GOOD = { to: ['a@example.com'], data: MAIL };
const CLIENT = { ca: tlsFixtures.authority, servername: 'localhost' };

let folder: Awaited<ReturnType<typeof createTempDir>>;
let certificate: { SUBMISSION_TLS_CERT: string; SUBMISSION_TLS_KEY: string };

beforeAll(async () => {
  folder = await createTempDir();
  certificate = await certificateFiles('standard', tlsFixtures.good);
});
afterAll(() => folder?.[Symbol.asyncDispose]());

async function certificateFiles(name: string, { cert, key }: { cert: string; key: string }) {
  const files = {
    SUBMISSION_TLS_CERT: path.join(folder.path, `${name}.crt`),
    SUBMISSION_TLS_KEY: path.join(folder.path, `${name}.key`),
  };
  await writeFile(files.SUBMISSION_TLS_CERT, cert);
  await writeFile(files.SUBMISSION_TLS_KEY, key);
  return files;
}

async function startTlsApp(
  env: Record<string, string> = {},
  submission: TestAppOptions['submission'] = {},
): Promise<TestApp & { tlsPort: number }> {
  const app = await startApp({
    env: { SUBMISSION_PORT: '0', SUBMISSION_TLS_PORT: '0', ...certificate, ...env },
    submission: { isLocal: () => false, ...submission },
  });
  return { ...app, tlsPort: app.app.submission.tlsPort as number };
}

async function greetedBy(port: number): Promise<SubmissionClient> {
  const client = await SubmissionClient.connectTls(port, CLIENT);
  expect((await client.reply()).code).toBe(220);
  return client;
}

test('a message is submitted as on the other port, without STARTTLS', async () => {
  await using app = await startTlsApp();
  using client = await greetedBy(app.tlsPort);
  const { lines } = await client.command('EHLO x');
  expect(lines).toContain('AUTH PLAIN LOGIN');
  expect(lines).not.toContain('STARTTLS');
  expect((await client.command('STARTTLS')).code).toBe(503);
  expect((await client.login(app.testKey)).code).toBe(235);
  expect((await client.send(GOOD)).code).toBe(250);
  using other = await SubmissionClient.connect(app.app.submission.port as number);
  await other.reply();
  expect((await other.command('EHLO x')).lines).toContain('STARTTLS');
  expect((await app.call('GET', '/smtp')).json).toMatchObject({
    open: true,
    port: app.app.submission.port,
    tls_port: app.tlsPort,
    starttls: true,
  });
});

test('it can be the only port, and a configured port in use prevents the start', async () => {
  await using app = await startTlsApp({ SUBMISSION_PORT: 'off' });
  expect(app.app.submission.port).toBeUndefined();
  using client = await greetedBy(app.tlsPort);
  await client.command('EHLO x');
  expect((await client.login(app.testKey)).code).toBe(235);
  expect((await app.call('GET', '/smtp')).json).toMatchObject({
    open: true,
    port: null,
    tls_port: app.tlsPort,
    starttls: false,
  });

  const own = String(await freePort());
  await expect(
    startTlsApp({ SUBMISSION_PORT: own, SUBMISSION_TLS_PORT: String(app.tlsPort) }),
  ).rejects.toThrow(
    `Port ${app.tlsPort} on 127.0.0.1 is already in use. Stop the other program, change SUBMISSION_TLS_PORT`,
  );
  // Ports that were already open are closed again.
  const again = net.createServer().listen(Number(own), '127.0.0.1');
  await once(again, 'listening');
  again.close();
});

test('a renewed certificate is used without a restart', async () => {
  const files = await certificateFiles('renewed', tlsFixtures.selfSigned);
  await using app = await startTlsApp(files);
  await expect(SubmissionClient.connectTls(app.tlsPort, CLIENT)).rejects.toThrow('self-signed');
  await certificateFiles('renewed', tlsFixtures.good);
  await app.app.submission.renewCertificate();
  using client = await greetedBy(app.tlsPort);
  expect((await client.command('NOOP')).code).toBe(250);
});

describe('a client without a TLS handshake', () => {
  test('gets no reply, and is disconnected when it sends data or times out', async () => {
    await using app = await startTlsApp({}, { handshakeMs: 200 });
    for (const bytes of ['', 'EHLO client.example\r\n', '\x16\x03\x01\xff\xff']) {
      const socket = net.connect(app.tlsPort, '127.0.0.1');
      const heard: Buffer[] = [];
      socket.on('data', (chunk) => heard.push(chunk)).on('error', () => {});
      socket.write(bytes);
      await once(socket, 'close');
      // TLS may send an alert, but there is no greeting.
      expect(Buffer.concat(heard).toString('latin1')).not.toMatch(/220|ESMTP/);
    }
    const logIn = async () => {
      using client = await greetedBy(app.tlsPort);
      await client.command('EHLO x');
      return (await client.login(app.testKey)).code;
    };
    // On a busy machine, a handshake may take longer than it is allowed to here.
    await expect.poll(() => logIn().catch(() => 0)).toBe(235);
  });

  test('counts only against its own address', async () => {
    await using app = await startTlsApp({ SUBMISSION_CONNECTIONS_PER_SOURCE: '3' });
    const silent = Array.from({ length: 3 }, () => net.connect(app.tlsPort, '127.0.0.1'));
    await Promise.all(silent.map((socket) => once(socket, 'connect')));
    await expect(SubmissionClient.connectTls(app.tlsPort, CLIENT)).rejects.toThrow();
    for (const socket of silent) socket.destroy();
    await expect
      .poll(async () => {
        const client = await SubmissionClient.connectTls(app.tlsPort, CLIENT).catch(() => null);
        using _open = client ?? undefined;
        return (await client?.reply())?.code;
      })
      .toBe(220);
  });

  test('does not delay shutdown', async () => {
    const app = await startTlsApp();
    const socket = net.connect(app.tlsPort, '127.0.0.1');
    await once(socket, 'connect');
    using client = await greetedBy(app.tlsPort);
    const closed = once(socket.on('error', () => {}).resume(), 'close');
    await app.app.stop();
    expect((await client.reply()).code).toBe(421);
    await closed;
    await app[Symbol.asyncDispose]();
  });
});
