import { copyFile, writeFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { expect, test } from 'vitest';
import { createLog } from '../../../src/lib/log.ts';
import { startApp, validMessage } from '../../harness/app.ts';
import { createTestDatabase } from '../../harness/database/database.ts';
import { startDatabaseProxy } from '../../harness/database/database-proxy.ts';
import { freePort } from '../../harness/free-port.ts';
import { createServerProcess, removeDataDir } from '../../harness/server-process.ts';
import { SubmissionClient } from '../../harness/smtp/submission-client.ts';
import { tlsFixtures } from '../../harness/smtp/tls-fixtures.ts';
import { createTempDir } from '../../harness/temp-dir.ts';
import { until } from '../../harness/until.ts';

/**
 * 250 is sent only after the commit; keys are never accepted unencrypted over a network; shutdown finishes the
 * current message; the server starts without the port. The tests use a database outage, a killed server,
 * certificates and ports in use.
 */

const MAIL = 'From: hello@example.org\r\nTo: a@example.com\r\nSubject: Hi\r\n\r\nHello';
const OPEN = { SUBMISSION_PORT: '0' };
const TRANSACTION = ['MAIL FROM:<a@example.org>', 'RCPT TO:<a@example.com>', 'DATA'];
const GOOD = { to: ['a@example.com'], data: MAIL };

test('during a database outage it replies 451 and stores nothing, and works again afterwards', async () => {
  await using database = await createTestDatabase();
  await using way = await startDatabaseProxy(database.url);
  const logged: string[] = [];
  const destination = { write: (line: string) => void logged.push(line) };
  await using app = await startApp({
    env: OPEN,
    database: { ...database, url: way.url },
    log: createLog({ level: 'warn', destination }),
  });
  const port = app.app.submission.port as number;
  using client = await SubmissionClient.connectAndLogIn(port, app.testKey);
  expect((await client.send(GOOD)).code).toBe(250);
  for (const line of TRANSACTION) expect((await client.command(line)).code).toBeLessThan(400);
  await way.disconnect();
  client.write(`${MAIL}\r\n.\r\n`);
  expect(await client.reply()).toMatchObject({
    code: 451,
    text: expect.stringMatching(/^4\.3\.0 /),
  });
  using unauthenticated = await SubmissionClient.connect(port);
  await unauthenticated.reply();
  await unauthenticated.command('EHLO client.example');
  expect((await unauthenticated.login(app.liveKey)).code).toBe(454);
  const refused = await app.call('POST', '/transactional/send', { body: validMessage() });
  expect(refused.status).toBe(503);
  // One line for all refusals, whichever way the mail came.
  expect(logged.filter((line) => line.includes('"database unavailable"'))).toHaveLength(1);
  await way.reconnect();
  await expect.poll(async () => (await client.send(GOOD)).code).toBe(250);
  const { rows } = await database.pool.query('select count(*)::int as n from messages');
  expect(rows[0]?.n).toBe(2);
});

test('a server killed after 250 loses nothing', { timeout: 240_000 }, async () => {
  await using folder = await createTempDir();
  const port = await freePort();
  const server = await createServerProcess({
    dataDir: folder.path,
    env: { SUBMISSION_PORT: String(port), LEASE_SECONDS: '10' },
  });
  try {
    await server.start();
    let key = '';
    await until(() => {
      key = /pr_test_\w+/.exec(server.output)?.[0] ?? '';
      return key !== '';
    });
    using client = await SubmissionClient.connectAndLogIn(port, key);
    const ids: string[] = [];
    for (let index = 0; index < 20; index++) {
      const { text } = await client.send(GOOD);
      ids.push(/msg_\w+/.exec(text)?.[0] ?? '');
    }
    await server.kill();
    await server.start();
    const statusOf = async (id: string): Promise<string> => {
      const headers = { authorization: `Bearer ${key}` };
      const answer = await fetch(`${server.url}/api/v1/messages/${id}`, { headers });
      return ((await answer.json()) as { status: string }).status;
    };
    for (const id of ids) {
      await until(async () => (await statusOf(id)) === 'delivered', {
        timeoutMs: 60_000,
        what: `${id} is delivered`,
      });
    }
    expect(new Set(ids).size).toBe(20);
  } finally {
    await server.kill();
    await server.killPostgres();
    await removeDataDir(folder.path);
  }
});

test('shutdown finishes the current message and rejects new ones', async () => {
  const app = await startApp({ env: OPEN });
  const port = app.app.submission.port as number;
  using idle = await SubmissionClient.connectAndLogIn(port, app.testKey);
  using busy = await SubmissionClient.connectAndLogIn(port, app.testKey);
  for (const line of ['MAIL FROM:<a@example.org>', 'RCPT TO:<a@example.com>', 'DATA']) {
    await busy.command(line);
  }
  busy.write(MAIL);
  // The server owns the message only once it has seen DATA, as the reply above shows.
  const stopped = app.app.stop();
  expect((await idle.reply()).code).toBe(421);
  using late = await SubmissionClient.connect(port);
  expect((await late.reply()).code).toBe(421);
  busy.write('\r\n.\r\n');
  const { code, text } = await busy.reply();
  expect(code).toBe(250);
  expect((await busy.reply()).code).toBe(421);
  await stopped;
  const { rows } = await app.database.pool.query('select count(*)::int as n from messages');
  expect([rows[0]?.n, text]).toEqual([1, expect.stringContaining('msg_')]);
  await app[Symbol.asyncDispose]();
});

test('with a certificate, keys are accepted only over TLS, and a renewed certificate is used', async () => {
  await using folder = await createTempDir();
  const cert = path.join(folder.path, 'cert.pem');
  const key = path.join(folder.path, 'key.pem');
  await writeFile(cert, tlsFixtures.good.cert);
  await writeFile(key, tlsFixtures.good.key);
  await using app = await startApp({
    env: { ...OPEN, SUBMISSION_TLS_CERT: cert, SUBMISSION_TLS_KEY: key },
    submission: { isLocal: () => false },
  });
  const port = app.app.submission.port as number;
  const secured = async (): Promise<SubmissionClient> => {
    const client = await SubmissionClient.connect(port);
    await client.reply();
    expect((await client.command('EHLO x')).lines.join()).not.toContain('AUTH');
    expect((await client.login(app.testKey)).code).toBe(538);
    expect((await client.command('MAIL FROM:<a@example.org>')).code).toBe(530);
    expect((await client.command('STARTTLS')).code).toBe(220);
    await client.startTls({ ca: tlsFixtures.authority, servername: 'localhost' });
    return client;
  };
  using client = await secured();
  expect((await client.command('EHLO x')).lines).toContain('AUTH PLAIN LOGIN');
  expect((await client.login(app.testKey)).code).toBe(235);
  expect((await client.send(GOOD)).code).toBe(250);
  expect((await app.call('GET', '/smtp')).json).toMatchObject({ open: true, starttls: true });

  // Commands pipelined after STARTTLS were sent unencrypted and are discarded.
  using early = await SubmissionClient.connect(port);
  await early.reply();
  await early.command('EHLO x');
  early.write('STARTTLS\r\nNOOP\r\n');
  expect((await early.reply()).code).toBe(220);
  await early.startTls({ ca: tlsFixtures.authority, servername: 'localhost' });
  expect((await early.command('RSET')).text).toContain('Flushed');

  await writeFile(cert, tlsFixtures.selfSigned.cert);
  await expect(app.app.submission.renewCertificate()).rejects.toThrow(
    'not a certificate and its private key',
  );
  using before = await secured();
  expect((await before.command('NOOP')).code).toBe(250);
  await writeFile(key, tlsFixtures.selfSigned.key);
  await app.app.submission.renewCertificate();
  await expect(secured()).rejects.toThrow('self-signed certificate');
});

test('a client that half-closes after the final dot, as Exim does, gets the reply', async () => {
  await using folder = await createTempDir();
  const cert = path.join(folder.path, 'cert.pem');
  const key = path.join(folder.path, 'key.pem');
  await writeFile(cert, tlsFixtures.good.cert);
  await writeFile(key, tlsFixtures.good.key);
  await using database = await createTestDatabase();
  const env = { ...OPEN, SUBMISSION_TLS_CERT: cert, SUBMISSION_TLS_KEY: key };
  await using app = await startApp({ env, database });
  const port = app.app.submission.port as number;
  for (const encrypted of [false, true]) {
    using client = await SubmissionClient.connect(port);
    await client.reply();
    await client.command('EHLO x');
    if (encrypted) {
      expect((await client.command('STARTTLS')).code).toBe(220);
      await client.startTls({ ca: tlsFixtures.authority, servername: 'localhost' });
      await client.command('EHLO x');
    }
    expect((await client.login(app.testKey)).code).toBe(235);
    for (const line of TRANSACTION) await client.command(line);
    client.endWriting(`${MAIL}\r\n.\r\nQUIT\r\n`);
    expect((await client.reply()).code).toBe(250);
    expect((await client.reply()).code).toBe(221);
    expect((await client.reply()).code).toBe(0);
  }
  // A half-close at any other point is a disconnect that leaves nothing behind.
  using early = await SubmissionClient.connect(port);
  early.endWriting();
  expect((await early.reply()).code).toBe(220);
  expect((await early.reply()).code).toBe(0);
  using cut = await SubmissionClient.connectAndLogIn(port, app.testKey);
  for (const line of TRANSACTION) await cut.command(line);
  cut.endWriting(MAIL);
  expect((await cut.reply()).code).toBe(0);
  const { rows } = await database.pool.query('select count(*)::int as n from messages');
  expect(rows[0]?.n).toBe(2);
});

test('without a certificate, keys are rejected over the network unless the operator allows it', async () => {
  await using app = await startApp({ env: OPEN, submission: { isLocal: () => false } });
  using client = await SubmissionClient.connect(app.app.submission.port as number);
  await client.reply();
  expect((await client.command('EHLO x')).lines.join()).not.toMatch(/AUTH|STARTTLS/);
  expect(await client.login(app.testKey)).toMatchObject({
    code: 538,
    text: expect.stringContaining('no TLS certificate'),
  });
  expect((await client.command('MAIL FROM:<a@example.org>')).code).toBe(530);

  await using open = await startApp({
    env: { ...OPEN, SUBMISSION_ALLOW_PLAINTEXT: 'true' },
    submission: { isLocal: () => false },
  });
  using other = await SubmissionClient.connectAndLogIn(
    open.app.submission.port as number,
    open.testKey,
  );
  expect((await other.send(GOOD)).code).toBe(250);
});

test('unauthenticated clients and unfinished messages are timed out', async () => {
  await using strict = await startApp({ env: OPEN, submission: { authMs: 100 } });
  using silent = await SubmissionClient.connect(strict.app.submission.port as number);
  expect((await silent.reply()).code).toBe(220);
  expect((await silent.reply()).code).toBe(421);
  await using app = await startApp({ env: OPEN, submission: { dataMs: 150 } });
  const port = app.app.submission.port as number;
  using slow = await SubmissionClient.connectAndLogIn(port, app.testKey);
  for (const line of TRANSACTION) await slow.command(line);
  slow.write('From: a');
  expect((await slow.reply()).code).toBe(421);
  expect((await slow.reply()).code).toBe(0);
});

test('a configured port in use prevents the start; the default port does not', async () => {
  const otherServer = net.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => otherServer.once('listening', resolve));
  const { port } = otherServer.address() as net.AddressInfo;
  await expect(startApp({ env: { SUBMISSION_PORT: String(port) } })).rejects.toThrow(
    `Port ${port} on 127.0.0.1 is already in use. Stop the other program, change SUBMISSION_PORT, or set it to off.`,
  );
  otherServer.close();
  // Another node that has the default port serves it.
  const standard = net.createServer().listen(2587, '127.0.0.1');
  await new Promise((resolve) => standard.once('listening', resolve).once('error', resolve));
  await using app = await startApp({ env: { SUBMISSION_PORT: '' } });
  expect(app.app.submission.port).toBeUndefined();
  expect((await app.call('GET', '/smtp')).json).toMatchObject({
    open: false,
    port: null,
    closed_because: expect.stringContaining('2587'),
  });
  await new Promise((resolve) => standard.close(resolve));
});

test('an address that is not local prevents the start, whatever the port', async () => {
  for (const host of ['192.0.2.1', 'no-such-host.invalid']) {
    await expect(startApp({ env: { SUBMISSION_PORT: '', SUBMISSION_HOST: host } })).rejects.toThrow(
      `SUBMISSION_HOST ${host} is not an address of this machine.`,
    );
    await expect(
      startApp({ env: { RETURN_PATH_PORT: '', RETURN_PATH_HOST: host } }),
    ).rejects.toThrow(`RETURN_PATH_HOST ${host} is not an address of this machine.`);
    // HOST is their default, so it is the setting to correct.
    for (const off of ['SUBMISSION_PORT', 'RETURN_PATH_PORT']) {
      const env = { SUBMISSION_PORT: '', RETURN_PATH_PORT: '', [off]: 'off', HOST: host };
      await expect(startApp({ env })).rejects.toThrow(
        /^HOST \S+ is not an address of this machine/,
      );
    }
  }
});

test('only a process with the smtp role opens the port, and off disables it', async () => {
  await using smtpNode = await startApp({ env: { ...OPEN, ROLES: 'smtp' } });
  expect(smtpNode.app.submission.port).toBeTypeOf('number');
  await using api = await startApp({ env: { ...OPEN, ROLES: 'api' } });
  expect(api.app.submission.port).toBeUndefined();
  expect((await api.call('GET', '/smtp')).json).toMatchObject({
    open: false,
    closed_because: expect.stringMatching(/^This process does not accept mail over SMTP \(ROLES\)/),
  });
  await using closed = await startApp({ env: { SUBMISSION_PORT: 'off' } });
  expect((await closed.call('GET', '/smtp')).json).toMatchObject({
    open: false,
    closed_because: 'The operator has disabled it.',
  });
});

test('the API reports the public address of the port, wherever it listens', async () => {
  const SUBMISSION_URL = 'smtp://Mail.example.com, smtps://mail.example.com:2465/';
  const expected = { host: 'mail.example.com', port: 587, tls_port: 2465 };
  await using here = await startApp({ env: { ...OPEN, SUBMISSION_URL } });
  const settings = (await here.call('GET', '/smtp')).json;
  expect(settings).toMatchObject({
    open: true,
    closed_because: null,
    starttls: false,
    ...expected,
  });
  await using api = await startApp({ env: { ...OPEN, ROLES: 'api', SUBMISSION_URL } });
  expect((await api.call('GET', '/smtp')).json).toMatchObject({ open: true, ...expected });
  await using one = await startApp({
    env: { ...OPEN, ROLES: 'api', SUBMISSION_URL: 'smtps://[2001:db8::1]' },
  });
  expect((await one.call('GET', '/smtp')).json).toMatchObject({
    host: '[2001:db8::1]',
    port: null,
    tls_port: 465,
  });
  // A URL alone opens no port.
  await using off = await startApp({ env: { SUBMISSION_PORT: 'off', SUBMISSION_URL } });
  expect((await off.call('GET', '/smtp')).json).toMatchObject({
    open: false,
    port: null,
    tls_port: null,
  });
});

test('invalid certificates are reported in one sentence', async () => {
  await using folder = await createTempDir();
  const file = path.join(folder.path, 'not.pem');
  await writeFile(file, 'nothing');
  const env = { ...OPEN, SUBMISSION_TLS_CERT: file, SUBMISSION_TLS_KEY: `${file}.gone` };
  await expect(startApp({ env })).rejects.toThrow(
    /^Cannot read SUBMISSION_TLS_KEY .*not\.pem\.gone/,
  );
  await copyFile(file, `${file}.gone`);
  await expect(startApp({ env })).rejects.toThrow(/are not a certificate and its private key/);
});
