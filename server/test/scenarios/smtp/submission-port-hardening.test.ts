import net from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startApp, type TestApp } from '../../harness/app.ts';
import { type Reply, SubmissionClient } from '../../harness/smtp/submission-client.ts';

/**
 * Whatever a client sends on the submission port, it gets a reply or is disconnected; only complete messages are
 * accepted, and other clients are not affected. The tests send raw bytes and check the result through the API.
 */

const SIZE = 1024 * 1024;
let app: TestApp;
let port: number;

beforeAll(async () => {
  app = await startApp({
    env: {
      SUBMISSION_PORT: '0',
      MESSAGE_MAX_BYTES: String(SIZE),
      REQUEST_BODY_MAX_BYTES: String(SIZE),
      ACCEPT_BUFFER_MAX_BYTES: String(SIZE),
      SUBMISSION_CONNECTIONS_PER_SOURCE: '20',
    },
    submission: { authFailureDelayMs: 5 },
  });
  port = app.app.submission.port as number;
});
afterAll(() => app?.[Symbol.asyncDispose]());

const HEAD = 'From: hello@example.org\r\nTo: a@example.com\r\nSubject: Hi\r\n';

async function kept(): Promise<number> {
  const { rows } = await app.database.pool.query('select count(*)::int as n from messages');
  return rows[0]?.n as number;
}

async function submit(data: string | Buffer): Promise<Reply & { id: string }> {
  using client = await SubmissionClient.connectAndLogIn(port, app.testKey);
  const reply = await client.send({ to: ['a@example.com'], data });
  return { ...reply, id: /msg_\w+/.exec(reply.text)?.[0] ?? '' };
}

async function raw(id: string): Promise<string> {
  return (await app.call('GET', `/messages/${id}/raw`)).text;
}

describe('the end of a message', () => {
  const second = 'MAIL FROM:<x@example.org>\r\nRCPT TO:<b@example.com>\r\nDATA\r\n';
  test.each([
    ['LF . LF', '\n.\n'],
    ['LF . CRLF', '\n.\r\n'],
    ['CRLF . LF', '\r\n.\n'],
    ['CR . CR', '\r.\r'],
    ['CR . LF', '\r.\n'],
    ['CRLF . CR', '\r\n.\r'],
  ])('%s does not end it, and the message is rejected', async (_name, end) => {
    const before = await kept();
    const { code } = await submit(`${HEAD}\r\nHello${end}${second}${HEAD}\r\nSmuggled`);
    expect(code).toBe(550);
    expect(await kept()).toBe(before);
  });

  test('dot-stuffing is removed, at the start and in the middle', async () => {
    const { id } = await submit(`${HEAD}\r\n..\r\n..dot\r\n...\r\n`);
    const { json } = await app.call('GET', `/messages/${id}/content`);
    expect(json.text.trimEnd()).toBe('.\n.dot\n..');
  });

  test('any packet boundaries give the same message', async () => {
    using client = await SubmissionClient.connectAndLogIn(port, app.testKey);
    for (const line of ['MAIL FROM:<a@example.org>', 'RCPT TO:<a@example.com>', 'DATA']) {
      await client.command(line);
    }
    for (const byte of `${HEAD}\r\nHi\r\n..\r\n.\r\n`) {
      client.write(byte);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect((await client.reply()).code).toBe(250);
    expect((await client.command('NOOP')).code).toBe(250);
  });
});

describe('size limits', () => {
  test('a message that declares too large a size, and one that is too large', async () => {
    using client = await SubmissionClient.connectAndLogIn(port, app.testKey);
    expect(await client.command(`MAIL FROM:<a@example.org> SIZE=${SIZE + 1}`)).toMatchObject({
      code: 552,
      text: expect.stringMatching(/^5\.3\.4 /),
    });
    const before = await kept();
    const large = `${HEAD}\r\n${'x'.repeat(70)}\r\n`.repeat(SIZE / 80);
    const reply = await client.send({ to: ['a@example.com'], data: large });
    expect(reply).toMatchObject({ code: 552, text: expect.stringMatching(/^5\.3\.4 /) });
    expect(await kept()).toBe(before);
    expect((await client.send({ to: ['a@example.com'], data: `${HEAD}\r\nHi` })).code).toBe(250);
  });

  test('an endless message lets other clients run after each chunk', async () => {
    using client = await SubmissionClient.connectAndLogIn(port, app.testKey);
    const pieces = 256;
    const piece = 64 * 1024;
    let turns = 0;
    let counting = true;
    const count = (): void => {
      turns += 1;
      if (counting) setImmediate(count);
    };
    setImmediate(count);
    const large = `${HEAD}\r\n${'x'.repeat(62)}\r\n`.repeat((pieces * piece) / 64);
    const reply = await client.send({ to: ['a@example.com'], data: large });
    counting = false;
    expect(reply.code).toBe(552);
    // Server and client share this event loop: one chunk, then everything else.
    expect(turns).toBeGreaterThan(pieces);
  });

  test('messages beyond the memory limit are deferred, not lost', async () => {
    using first = await SubmissionClient.connectAndLogIn(port, app.testKey);
    using second = await SubmissionClient.connectAndLogIn(port, app.testKey);
    const line = `${'x'.repeat(70)}\r\n`;
    for (const client of [first, second]) {
      for (const command of ['MAIL FROM:<a@example.org>', 'RCPT TO:<a@example.com>', 'DATA']) {
        await client.command(command);
      }
    }
    const half = `${HEAD}\r\n${line.repeat(Math.floor((SIZE * 0.6) / line.length))}`;
    first.write(half);
    second.write(`${half}.\r\n`);
    // The order of arrival varies; one of them exceeds the limit.
    first.write('.\r\n');
    const codes = [(await first.reply()).code, (await second.reply()).code].sort();
    expect([
      [250, 250],
      [250, 451],
    ]).toContainEqual(codes);
  });
});

describe('hostile content', () => {
  test('line breaks in encoded words do not add a header', async () => {
    const evil = '=?utf-8?q?x=0D=0ABcc:_evil@example.com=0D=0A=0D=0ABody?=';
    const { code, id } = await submit(
      [
        `From: ${evil} <hello@example.org>`,
        `To: ${evil} <a@example.com>`,
        `Reply-To: ${evil} <r@example.org>`,
        `Subject: ${evil}`,
        `X-Custom: ${evil}`,
        'Content-Type: multipart/mixed; boundary=b',
        '',
        '--b',
        'Content-Type: application/pdf',
        `Content-Disposition: attachment; filename="${evil}/../../x"`,
        '',
        'file',
        '--b--',
      ].join('\r\n'),
    );
    expect(code).toBe(250);
    expect(await raw(id)).not.toMatch(/^Bcc:/im);
    const { json } = await app.call('GET', `/messages/${id}`);
    expect(json.subject).toBe('x Bcc: evil@example.com  Body');
  });

  test.each([
    [
      'a bare CR in a header',
      `${HEAD}X-Odd: a\rBcc: evil@example.com\r\n\r\nHi`,
      'a CR without LF',
    ],
    ['a bare CR in the body', `${HEAD}\r\na\rb`, 'a CR without LF'],
    [
      'a bare LF in a header',
      `${HEAD}X-Odd: a\nBcc: evil@example.com\r\n\r\nHi`,
      'an LF without CR',
    ],
    ['a bare LF in the body', `${HEAD}\r\na\nb`, 'an LF without CR'],
    ['a NUL', `${HEAD}\r\na\0b`, 'a NUL byte'],
  ])('%s is rejected, and the next message is accepted', async (_name, data, explanation) => {
    const before = await kept();
    using client = await SubmissionClient.connectAndLogIn(port, app.testKey);
    const refused = await client.send({ to: ['a@example.com'], data });
    expect(refused).toMatchObject({ code: 550, text: expect.stringContaining(explanation) });
    expect(await kept()).toBe(before);
    expect((await client.send({ to: ['a@example.com'], data: `${HEAD}\r\nHi` })).code).toBe(250);
  });

  test('invalid UTF-8 in the body does no harm', async () => {
    const odd = Buffer.concat([Buffer.from(`${HEAD}\r\n`), Buffer.from([0xff, 0xfe, 0xc3, 0x28])]);
    expect((await submit(odd)).code).toBe(250);
  });

  test('an address that is not UTF-8 is rejected, not turned into another address', async () => {
    using client = await SubmissionClient.connectAndLogIn(port, app.testKey);
    client.write(Buffer.from('MAIL FROM:<j\xfcrgen@example.org>\r\n', 'latin1'));
    expect(await client.reply()).toMatchObject({
      code: 501,
      text: expect.stringMatching(/^5\.1\.7 .*UTF-8/),
    });
    expect((await client.command('MAIL FROM:<hello@example.org>')).code).toBe(250);
    client.write(Buffer.from('RCPT TO:<j\xfcrgen@example.com>\r\n', 'latin1'));
    expect(await client.reply()).toMatchObject({
      code: 501,
      text: expect.stringMatching(/^5\.1\.3 .*UTF-8/),
    });
    expect((await client.command('DATA')).code).toBe(503);
  });

  test('replies contain nothing that could be read as another reply', async () => {
    const { code, lines } = await submit(
      `${HEAD}X-Postrider-TTL-Seconds: =?utf-8?q?x=0D=0A250_2.0.0_Accepted?=\r\n\r\nHi`,
    );
    expect(code).toBe(550);
    expect(lines).toHaveLength(1);
  });

  test.each([
    ['with endless nesting', nested(5_000)],
    ['with only headers', `${HEAD}${'X-A: b\r\n'.repeat(60_000)}\r\nHi`],
    ['with an endless header', `${HEAD}X-A: ${'b'.repeat(400_000)}\r\n\r\nHi`],
    ['with only empty lines', `${HEAD}\r\n${'\r\n'.repeat(450_000)}`],
    [
      'with very many parts',
      `${HEAD}Content-Type: multipart/mixed; boundary=b\r\n\r\n${'--b\r\n\r\n'.repeat(90_000)}`,
    ],
    ['with more headers than are taken', `${HEAD}${'X-A: 0123456789\r\n'.repeat(5_000)}\r\nHi`],
  ])('a message %s is rejected', async (_name, data) => {
    const before = await kept();
    expect(await submit(data)).toMatchObject({ code: 550 });
    expect(await kept()).toBe(before);
    expect((await submit(`${HEAD}\r\nHi`)).code).toBe(250);
  });

  test('large messages are parsed in another thread and arrive complete', async () => {
    const file = Buffer.alloc(600_000, 'postrider ');
    const { code, id } = await submit(
      [
        `${HEAD}Content-Type: multipart/mixed; boundary=b`,
        '',
        '--b',
        '',
        'See the file',
        '--b',
        'Content-Type: application/pdf; name=large.pdf',
        'Content-Transfer-Encoding: base64',
        '',
        ...(file.toString('base64').match(/.{1,76}/g) ?? []),
        '--b--',
      ].join('\r\n'),
    );
    expect(code).toBe(250);
    const { json } = await app.call('GET', `/messages/${id}/content`);
    expect(json).toMatchObject({
      text: 'See the file',
      attachments: [{ filename: 'large.pdf', size_bytes: file.length }],
    });
  });
});

describe('commands', () => {
  test('unsupported commands are rejected', async () => {
    using client = await SubmissionClient.connectAndLogIn(port, app.testKey);
    const offered = (await client.command('EHLO client.example')).lines;
    expect(offered).toEqual(
      expect.arrayContaining(['PIPELINING', '8BITMIME', 'SMTPUTF8', 'ENHANCEDSTATUSCODES']),
    );
    expect(offered).toContain(`SIZE ${SIZE}`);
    expect(offered.join()).not.toMatch(/CHUNKING|BINARYMIME|STARTTLS|XCLIENT|DSN/);
    expect((await client.command('VRFY jane')).code).toBe(252);
    expect((await client.command('EXPN staff')).code).toBe(502);
    for (const command of ['BDAT 5 LAST', 'STARTTLS', 'XCLIENT ADDR=192.0.2.1', 'WIZ', 'TURN']) {
      expect((await client.command(command)).code).toBe(500);
    }
    expect((await client.command('DATA')).code).toBe(503);
  });

  test('parameters of extensions that are not offered are refused, and change nothing', async () => {
    using client = await SubmissionClient.connectAndLogIn(port, app.testKey);
    const codeOf = async (line: string) => (await client.command(line)).code;
    for (const parameter of ['RET=HDRS', 'ENVID=1', 'REQUIRETLS', 'HOLDFOR=60', 'X-OTHER=1']) {
      expect(await client.command(`MAIL FROM:<a@example.org> ${parameter}`)).toMatchObject({
        code: 555,
        text: expect.stringContaining(`5.5.4 The parameter ${parameter.split('=')[0]}`),
      });
    }
    expect(await codeOf('MAIL FROM:<a@example.org> BODY=BINARYMIME')).toBe(501);
    expect(await codeOf('RCPT TO:<a@example.com>')).toBe(503);
    const accepted = 'SIZE=100 BODY=8BITMIME SMTPUTF8 AUTH=<>';
    expect(await codeOf(`MAIL FROM:<a@example.org> ${accepted}`)).toBe(250);
    expect(await codeOf('RCPT TO:<b@example.com> ORCPT=rfc822;b@example.com')).toBe(555);
    expect(await codeOf('RCPT TO:<b@example.com> NOTIFY=SOMETIMES')).toBe(501);
    expect(await codeOf('DATA')).toBe(503);
    // PHPMailer sends it unasked.
    expect(await codeOf('RCPT TO:<a@example.com> NOTIFY=NEVER')).toBe(250);
    expect(await codeOf('DATA')).toBe(354);
    client.write(`${HEAD}\r\nHi\r\n.\r\n`);
    const id = /msg_\w+/.exec((await client.reply()).text)?.[0];
    const { json } = await app.call('GET', `/messages/${id}`);
    expect(json.recipients).toMatchObject([{ email: 'a@example.com' }]);
  });

  test('an endless command line is cut off', async () => {
    using client = await SubmissionClient.connect(port);
    await client.reply();
    client.write('E'.repeat(20_000));
    expect((await client.reply()).code).toBe(421);
  });

  test('an HTTP POST from a web page is disconnected', async () => {
    using client = await SubmissionClient.connect(port);
    await client.reply();
    client.write('POST / HTTP/1.1\r\nHost: x\r\n\r\nEHLO x\r\n');
    expect((await client.reply()).code).toBe(421);
  });

  test('the number of connections per client address is limited, until some end', async () => {
    const open = await Promise.all(
      Array.from({ length: 20 }, () => SubmissionClient.connect(port)),
    );
    await Promise.all(open.map((client) => client.reply()));
    using one = await SubmissionClient.connect(port);
    expect(await one.reply()).toMatchObject({ code: 421 });
    for (const client of open) client[Symbol.dispose]();
    await expect
      .poll(async () => {
        using again = await SubmissionClient.connect(port);
        return (await again.reply()).code;
      })
      .toBe(220);
  });
});

test('random input does not crash the server', async () => {
  const token = fc.oneof(
    fc.constantFrom(
      'EHLO a',
      'AUTH PLAIN',
      'AUTH LOGIN',
      'MAIL FROM:<>',
      'RCPT TO:<a@b.c>',
      'DATA',
    ),
    fc.constantFrom('.', '', '*', 'RSET', 'MAIL FROM:<a@b.c> SIZE=9999999999999999999999', 'NOOP'),
    fc.string({ unit: 'binary', maxLength: 60 }),
  );
  const session = fc.record({
    loggedIn: fc.boolean(),
    lines: fc.array(token, { maxLength: 8 }),
    mail: fc.oneof(
      fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
      fc
        .array(
          fc.oneof(
            fc.constantFrom('From: a@b.cd', 'Content-Type: multipart/mixed; boundary=b', '--b', ''),
            fc.constantFrom('Content-Transfer-Encoding: base64', '=?utf-8?b?', 'To: "', '--b--'),
            fc.string({ maxLength: 40 }),
          ),
          { maxLength: 20 },
        )
        .map((lines) => Buffer.from(lines.join('\r\n'))),
    ),
  });
  await fc.assert(
    fc.asyncProperty(session, async ({ loggedIn, lines, mail }) => {
      using client = loggedIn
        ? await SubmissionClient.connectAndLogIn(port, app.testKey)
        : await SubmissionClient.connect(port);
      client.write(lines.map((line) => `${line}\r\n`).join(''));
      using other = await SubmissionClient.connectAndLogIn(port, app.testKey);
      const { code } = await other.send({ to: ['a@example.com'], data: withDotsDoubled(mail) });
      expect([250, 550, 552]).toContain(code);
      expect((await other.command('NOOP')).code).toBe(250);
    }),
    { numRuns: 60 },
  );
});

/** RFC 5321 4.5.2: otherwise random data might end the message and be read as commands. */
function withDotsDoubled(mail: Buffer): Buffer {
  return Buffer.from(mail.toString('latin1').replaceAll(/(^|\r\n)\./g, '$1..'), 'latin1');
}

test('clients that disconnect early leave nothing behind', async () => {
  const before = await kept();
  for (const end of ['', 'half a', '\r\n.']) {
    const socket = net.connect(port, '127.0.0.1');
    const client = new SubmissionClient(socket);
    await client.reply();
    await client.command('EHLO x');
    await client.login(app.testKey);
    for (const line of ['MAIL FROM:<a@example.org>', 'RCPT TO:<a@example.com>', 'DATA']) {
      await client.command(line);
    }
    client.write(HEAD + end);
    socket.resetAndDestroy();
  }
  expect((await submit(`${HEAD}\r\nHi`)).code).toBe(250);
  expect(await kept()).toBe(before + 1);
});

function nested(depth: number): string {
  const opening = Array.from(
    { length: depth },
    (_, level) => `Content-Type: multipart/mixed; boundary=b${level}\r\n\r\n--b${level}\r\n`,
  );
  return `${HEAD}${opening.join('')}\r\nHi`;
}
