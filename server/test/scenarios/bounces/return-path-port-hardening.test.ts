import { writeFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApp } from '../../harness/app.ts';
import {
  BOUNCE_HOST,
  connectAndGreet,
  crlf,
  dsn,
  type ReturnPathServer,
  startReturnPathServer,
} from '../../harness/smtp/return-path-setup.ts';
import { SubmissionClient } from '../../harness/smtp/submission-client.ts';
import { tlsFixtures } from '../../harness/smtp/tls-fixtures.ts';
import { createTempDir } from '../../harness/temp-dir.ts';
import { until } from '../../harness/until.ts';

/**
 * The return path port relays nothing, enforces its limits and keeps serving, whatever clients send; the server
 * starts without it. The tests send raw bytes on real sockets and check the result through the API.
 */

const SIZE = 1024 * 1024;
let server: ReturnPathServer;

beforeAll(async () => {
  server = await startReturnPathServer({
    env: {
      MESSAGE_MAX_BYTES: String(SIZE),
      RETURN_PATH_CONNECTIONS_PER_SOURCE: '8',
    },
    returnPath: { dataMs: 30_000 },
  });
});
afterAll(() => server?.[Symbol.asyncDispose]());

let sent = 0;
function send() {
  sent += 1;
  return server.send({ to: { email: `u${sent}@example.com` } });
}

async function expectBounced(id: string): Promise<void> {
  expect((await server.message(id)).status).toBe('bounced');
}

test('no authentication, no relaying, no VRFY or EXPN', async () => {
  using client = await connectAndGreet(server.port);
  const extensions = (await client.command('EHLO x')).lines.join(' ');
  expect(extensions).not.toMatch(/AUTH|STARTTLS/);
  expect(extensions).toContain(`SIZE ${2 * SIZE}`);
  expect((await client.login(server.app.liveKey)).code).toBeGreaterThanOrEqual(500);
  expect((await client.command('MAIL FROM:<> RET=FULL')).code).toBe(555);
  expect((await client.command('MAIL FROM:<spammer@example.com>')).code).toBe(250);
  for (const to of [
    'victim@example.com',
    `victim%example.com@${BOUNCE_HOST}`,
    `"x@y"@${BOUNCE_HOST}`,
  ]) {
    expect((await client.command(`RCPT TO:<${to}>`)).code).toBeGreaterThanOrEqual(500);
  }
  expect((await client.command('DATA')).code).toBe(503);
  expect((await client.command('VRFY postmaster')).code).toBe(252);
  expect((await client.command('EXPN all')).code).toBe(502);
  expect(
    server.receiver.messages.some(({ recipients }) => recipients.includes('victim@example.com')),
  ).toBe(false);
});

test('clients that probe for mailboxes are disconnected', async () => {
  using client = await connectAndGreet(server.port);
  await client.command('MAIL FROM:<>');
  const codes: number[] = [];
  for (let n = 0; n < 12; n++)
    codes.push((await client.command(`RCPT TO:<u${n}@${BOUNCE_HOST}>`)).code);
  expect(codes.slice(0, 10)).toEqual(new Array(10).fill(550));
  expect(codes.slice(10)).toEqual([421, 0]);
});

test('a report with a large returned message is read from its start, and one above the size limit is rejected', async () => {
  const { id, returnPath } = await send();
  const line = `${'x'.repeat(70)}\r\n`;
  const tail = line.repeat((1.5 * SIZE) / line.length);
  const report = dsn({ recipient: `u${sent}@example.com` }).replace(
    'Hello\r\n',
    `Hello\r\n${tail}`,
  );
  expect((await server.report(returnPath, report)).code).toBe(250);
  await expectBounced(id);

  const other = await send();
  const tooLarge = `${dsn()}\r\n${line.repeat((2.2 * SIZE) / line.length)}`;
  expect(await server.report(other.returnPath, tooLarge)).toMatchObject({ code: 552 });
  using client = await connectAndGreet(server.port);
  expect((await client.command(`MAIL FROM:<> SIZE=${3 * SIZE}`)).code).toBe(552);
  expect((await server.message(other.id)).status).toBe('delivered');
});

test('only CRLF.CRLF ends a message', async () => {
  const { id, returnPath } = await send();
  for (const end of ['\n.\n', '\n.\r\n', '\r\n.\n', '\r.\r']) {
    const smuggled = `Subject: x${end}MAIL FROM:<>\r\nRCPT TO:<${returnPath}>\r\nDATA\r\n${dsn()}`;
    expect((await server.report(returnPath, smuggled)).code).toBe(550);
  }
  expect((await server.message(id)).status).toBe('delivered');
});

test('hostile messages do no harm, and the next report is processed', async () => {
  const { returnPath } = await send();
  const nested = Array.from({ length: 3000 }, (_, n) =>
    crlf(`Content-Type: multipart/mixed; boundary=b${n}\n\n--b${n}\n`),
  ).join('');
  const hostile = [
    '\r\n'.repeat(100_000),
    nested,
    crlf(`Content-Type: multipart/report; boundary=b\n\n${'--b\n\n'.repeat(50_000)}`),
    crlf(
      `Content-Type: multipart/report; boundary=b\n\n--b\nContent-Type: message/delivery-status\n\n${'Action: failed\n\n'.repeat(20_000)}`,
    ),
    Buffer.alloc(500_000, 0xff),
    `Subject: ${'=?utf-8?q?'.repeat(20_000)}`,
    '\0\r\n\0',
  ];
  for (const mail of hostile) {
    const { code } = await server.report(returnPath, mail);
    expect([250, 550]).toContain(code);
  }
  const { id, returnPath: next } = await send();
  const hostileText = '550 5.1.1 \0\u001b[31m<script> \u202e gone \ud800';
  expect((await server.report(next, dsn({ diagnostic: hostileText }))).code).toBe(250);
  const [recipient] = (await server.message(id)).recipients;
  expect(recipient).toMatchObject({ status: 'bounced', smtp: { code: 550 } });
  expect(recipient.smtp.text).not.toMatch(/\p{Cc}/u);
});

test('random input gets a reply or a disconnect, and the port keeps working', async () => {
  const token = fc.constantFrom(
    'EHLO x',
    'HELO',
    'MAIL FROM:<>',
    'MAIL FROM:<a@b.example>',
    'RCPT TO:<b-x@y.example>',
    'DATA',
    'RSET',
    'AUTH PLAIN',
    'STARTTLS',
    'QUIT',
    'NOOP',
    'BDAT 5 LAST',
    'XCLIENT ADDR=127.0.0.1',
    '.',
    '\0',
    '\r',
    '\xff\xfe',
  );
  const line = fc.oneof(token, fc.string({ unit: 'binary', maxLength: 40 }));
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 12 }), async (lines) => {
      using client = await SubmissionClient.connect(server.port);
      for (const one of lines) client.write(`${one}\r\n`);
      client.write('\r\n.\r\nQUIT\r\n');
      expect((await client.reply()).code).toBeGreaterThan(0);
    }),
    { numRuns: 40 },
  );
  const { id, returnPath } = await send();
  await server.report(returnPath, dsn());
  await expectBounced(id);
});

test('the number of connections per client address is limited', async () => {
  // Connections of other tests have ended when they are no longer counted.
  await until(async () => {
    const metrics = await fetch(`${server.app.url}/metrics`).then((answer) => answer.text());
    return /^postrider_return_path_connections 0$/m.test(metrics);
  });
  const clients: SubmissionClient[] = [];
  try {
    for (let n = 0; n < 8; n++) clients.push(await connectAndGreet(server.port));
    using late = await SubmissionClient.connect(server.port);
    expect(await late.reply()).toMatchObject({ code: 421, text: expect.stringContaining('4.7.0') });
  } finally {
    for (const client of clients) client[Symbol.dispose]();
  }
  await until(async () => {
    using client = await SubmissionClient.connect(server.port);
    return (await client.reply()).code === 220;
  });
});

test('a sender that disconnects before the 250 and retries counts once', async () => {
  const { id, returnPath } = await send();
  const report = dsn({ recipient: `u${sent}@example.com` });
  const client = await connectAndGreet(server.port);
  for (const line of ['MAIL FROM:<>', `RCPT TO:<${returnPath}>`, 'DATA'])
    await client.command(line);
  client.write(`${report}\r\n.\r\n`);
  await until(async () => (await server.message(id)).status === 'bounced');
  client[Symbol.dispose]();
  expect((await server.report(returnPath, report)).code).toBe(250);
  const bounces = (await server.events(id)).filter(({ type }) => type === 'message.bounced');
  expect(bounces).toHaveLength(1);
});

describe('the listener', () => {
  test('idle clients and endless reports are timed out', async () => {
    await using slow = await startReturnPathServer({ returnPath: { dataMs: 150 } });
    const { returnPath } = await slow.send();
    using client = await connectAndGreet(slow.port);
    for (const line of ['MAIL FROM:<>', `RCPT TO:<${returnPath}>`, 'DATA'])
      await client.command(line);
    client.write('Subject: x');
    expect((await client.reply()).code).toBe(421);
    expect((await client.reply()).code).toBe(0);
    await using strict = await startReturnPathServer({ returnPath: { sessionMs: 100 } });
    using idle = await SubmissionClient.connect(strict.port);
    expect((await idle.reply()).code).toBe(220);
    expect((await idle.reply()).code).toBe(421);
  });

  test('offers TLS with the certificate of the submission port', async () => {
    await using folder = await createTempDir();
    const cert = path.join(folder.path, 'cert.pem');
    const key = path.join(folder.path, 'key.pem');
    await writeFile(cert, tlsFixtures.good.cert);
    await writeFile(key, tlsFixtures.good.key);
    await using secure = await startReturnPathServer({
      env: { SUBMISSION_TLS_CERT: cert, SUBMISSION_TLS_KEY: key },
    });
    const { id, returnPath } = await secure.send();
    using client = await connectAndGreet(secure.port);
    expect((await client.command('STARTTLS')).code).toBe(220);
    await client.startTls({ ca: tlsFixtures.authority, servername: 'localhost' });
    await client.command('EHLO x');
    expect((await client.send({ from: '', to: [returnPath], data: dsn() })).code).toBe(250);
    expect((await secure.message(id)).status).toBe('bounced');
  });

  test('shutdown finishes the current report and rejects new ones', async () => {
    const closing = await startReturnPathServer();
    const { returnPath } = await closing.send();
    using idle = await connectAndGreet(closing.port);
    using busy = await connectAndGreet(closing.port);
    for (const line of ['MAIL FROM:<>', `RCPT TO:<${returnPath}>`, 'DATA'])
      await busy.command(line);
    const stopped = closing.app.app.stop();
    expect((await idle.reply()).code).toBe(421);
    busy.write(`${dsn()}\r\n.\r\n`);
    expect((await busy.reply()).code).toBe(250);
    await stopped;
    const { rows } = await closing.database.pool.query('select status from deliveries');
    expect(rows).toEqual([{ status: 'bounced' }]);
    await closing[Symbol.asyncDispose]();
  });

  test('only the smtp role opens it; a configured port in use prevents the start, the default port does not', async () => {
    await using api = await startApp({ env: { RETURN_PATH_PORT: '0', ROLES: 'api,delivery' } });
    expect(api.app.returnPath.address).toBeUndefined();
    const otherServer = net.createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => otherServer.once('listening', resolve));
    const { port } = otherServer.address() as net.AddressInfo;
    await expect(startApp({ env: { RETURN_PATH_PORT: String(port) } })).rejects.toThrow(
      `Port ${port} on 127.0.0.1 is already in use. Stop the other program, change RETURN_PATH_PORT, or set it to off.`,
    );
    otherServer.close();
    const standard = net.createServer().listen(2525, '127.0.0.1');
    await new Promise((resolve) => standard.once('listening', resolve).once('error', resolve));
    await using app = await startApp({ env: { RETURN_PATH_PORT: '' } });
    expect(app.app.returnPath.address).toBeUndefined();
    await new Promise((resolve) => standard.close(resolve));
  });
});
