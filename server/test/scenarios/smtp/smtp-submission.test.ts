import PostalMime from 'postal-mime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sendLimits } from '../../../src/bootstrap/build-acceptor.ts';
import { readConfig } from '../../../src/config/read-config.ts';
import { startApp, type TestApp } from '../../harness/app.ts';
import { changeLast } from '../../harness/change-last.ts';
import { SubmissionClient } from '../../harness/smtp/submission-client.ts';

const LIMITS = sendLimits(readConfig({}));

/**
 * A program that speaks SMTP sends like one that uses the API: the same validation, the same message, and 250
 * means what 202 means. The tests use the real server, a raw SMTP client, and the API to see the result.
 */

let app: TestApp;
let port: number;

beforeAll(async () => {
  app = await startApp({ env: { SUBMISSION_PORT: '0' }, submission: { authFailureDelayMs: 5 } });
  port = app.app.submission.port as number;
});
afterAll(() => app?.[Symbol.asyncDispose]());

function mail(headers: string[], body = 'Hello'): string {
  const has = (name: string) => headers.some((line) => line.toLowerCase().startsWith(`${name}:`));
  const from = has('from') ? [] : ['From: hello@example.org'];
  return [...from, ...headers, '', body].join('\r\n');
}

/** Submits one message on its own connection. */
async function submit(
  data: string | Buffer,
  to: string[],
  key: string = app.testKey,
): Promise<{ code: number; text: string; id: string }> {
  using client = await SubmissionClient.connectAndLogIn(port, key);
  const { code, text } = await client.send({ to, data });
  return { code, text, id: /msg_\w+/.exec(text)?.[0] ?? '' };
}

async function content(id: string) {
  return (await app.call('GET', `/messages/${id}/content`)).json;
}

async function raw(id: string): Promise<string> {
  return (await app.call('GET', `/messages/${id}/raw`)).text;
}

async function recipients(id: string): Promise<[string, string, string][]> {
  const { json } = await app.call('GET', `/messages/${id}`);
  return json.recipients.map((one: { email: string; kind: string; status: string }) => [
    one.kind,
    one.email,
    one.status,
  ]);
}

describe('content is preserved', () => {
  test('text, HTML, an inline image, an attachment and non-ASCII names, byte for byte', async () => {
    const html = '<p>Grüße, {{ name }} <img src="cid:logo@shop"></p>';
    const text = 'Grüße, {{ name }} ${x}\n.dot\n..two\n\nEnd';
    const image = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
    const csv = 'a;b\r\n1;2\r\n';
    const data = [
      'From: =?utf-8?q?B=C3=BCro?= <hello@example.org>',
      'To: "Jane (Doe)" <jane-all@example.com>, Bob <bob-all@example.com>',
      'Cc: =?utf-8?b?SsO2cmc=?= <joerg-all@example.com>',
      'Reply-To: Support <support@example.org>',
      'Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe_=7B=7B_name_=7D=7D_=F0=9F=99=82?=',
      'Message-ID: <mine@client.example>',
      'Date: Thu, 1 Jan 1970 00:00:00 +0000',
      'Received: from nowhere by nobody',
      'DKIM-Signature: v=1; a=fake',
      'Return-Path: <someone@else.example>',
      'X-Campaign: =?utf-8?q?Fr=C3=BChling?=',
      'List-Unsubscribe: <https://example.org/u/{{ token }}>,',
      '\t<mailto:u@example.org>',
      'MIME-Version: 1.0',
      'Content-Type: multipart/mixed; boundary=m',
      '',
      '--m',
      'Content-Type: multipart/related; boundary=r',
      '',
      '--r',
      'Content-Type: multipart/alternative; boundary=a',
      '',
      '--a',
      'Content-Type: text/plain; charset=iso-8859-1',
      'Content-Transfer-Encoding: 8bit',
      '',
      // Dot-stuffed, as clients do.
      text.replaceAll('\n.', '\n..').replaceAll('\n', '\r\n'),
      '--a',
      'Content-Type: text/html; charset=utf-8',
      'Content-Transfer-Encoding: base64',
      '',
      Buffer.from(html).toString('base64'),
      '--a--',
      '--r',
      'Content-Type: image/png; name=logo.png',
      'Content-ID: <logo@shop>',
      'Content-Transfer-Encoding: base64',
      '',
      ...(image.toString('base64').match(/.{1,76}/g) ?? []),
      '--r--',
      '--m',
      'Content-Type: text/csv; charset=us-ascii',
      "Content-Disposition: attachment; filename*=utf-8''%C3%9Cbersicht.csv",
      '',
      csv,
      '--m--',
    ].join('\r\n');
    const to = ['jane-all@example.com', 'bob-all@example.com', 'joerg-all@example.com'];
    const { code, id } = await submit(Buffer.from(data, 'latin1'), to);
    expect(code).toBe(250);

    const { json } = await app.call('GET', '/test/inbox/wait?to=jane-all@example.com');
    expect(json.message).toMatchObject({
      id,
      from: { email: 'hello@example.org', name: 'Büro' },
      to: [
        { email: 'jane-all@example.com', name: 'Jane (Doe)', kind: 'to' },
        { email: 'bob-all@example.com', name: 'Bob', kind: 'to' },
        { email: 'joerg-all@example.com', name: 'Jörg', kind: 'cc' },
      ],
      subject: 'Grüße {{ name }} 🙂',
      html,
      text,
    });
    const sent = await PostalMime.parse(await raw(id));
    const files = sent.attachments.map(({ content: bytes, ...file }) => ({
      ...file,
      content: Buffer.from(bytes as ArrayBuffer),
    }));
    expect(files).toMatchObject([
      { filename: 'logo.png', mimeType: 'image/png', contentId: '<logo@shop>', content: image },
      { filename: 'Übersicht.csv', mimeType: 'text/csv', content: Buffer.from(csv) },
    ]);
    expect(sent.replyTo).toEqual([{ name: 'Support', address: 'support@example.org' }]);
    const headers = (await content(id)).headers as { name: string; value: string }[];
    const named = (name: string) => headers.filter((one) => one.name === name).map((h) => h.value);
    expect(named('X-Campaign')).toEqual(['=?utf-8?q?Fr=C3=BChling?=']);
    expect(named('List-Unsubscribe')).toEqual([
      '<https://example.org/u/{{ token }}>, <mailto:u@example.org>',
    ]);
    expect(sent.messageId).toBe('<mine@client.example>');
    expect(await raw(id)).not.toMatch(/^(Received|DKIM-Signature|Return-Path|Date: Thu, 1 Jan)/im);
  });

  test('a text-only message stays text-only, and a message without a body is accepted', async () => {
    const plain = await submit(mail(['To: p@example.com', 'Subject: Plain'], 'Only text'), [
      'p@example.com',
    ]);
    expect(await content(plain.id)).toMatchObject({ html: '', text: 'Only text' });
    expect(await raw(plain.id)).toMatch(/^Content-Type: text\/plain/m);
    const empty = await submit(mail(['To: p@example.com'], ''), ['p@example.com']);
    expect(empty.code).toBe(250);
    expect(await content(empty.id)).toMatchObject({ subject: '', html: '', text: '' });
  });

  test.each([
    ['text', 'text/csv', '', 'a;b\r\n1;2\r\n'],
    ['text without a trailing newline', 'text/plain', '7bit', 'one\r\ntwo'],
    ['text that ends in empty lines', 'text/plain', '7bit', 'one\r\n\r\n\r\n'],
    ['8-bit data', 'application/octet-stream', '8bit', 'a\r\nb\xff\xfe\r\n'],
    ['a single newline', 'text/plain', '7bit', '\r\n'],
    ['nothing', 'text/plain', '7bit', ''],
    ['quoted text', 'text/plain', 'quoted-printable', 'Gr\xfc\xdfe\r\n=\r\n'],
    ['base64', 'application/pdf', 'base64', 'a\nb\r\n\0\xff'],
    ['a mail', 'message/rfc822', '7bit', 'From: a@b.example\r\nSubject: x\r\n\r\nHi\r\n'],
    [
      'an invitation',
      'text/calendar; method=REQUEST; charset=iso-8859-1',
      '8bit',
      'BEGIN:\xe4\r\nEND:\r\n',
    ],
  ])('an attachment arrives byte for byte: %s', async (_name, type, encoding, file) => {
    const encoded: Record<string, string> = {
      'quoted-printable': 'Gr=FC=DF=\r\ne\r\n=3D\r\n',
      base64: Buffer.from(file, 'latin1').toString('base64'),
    };
    const data = [
      'From: hello@example.org',
      'Content-Type: multipart/mixed; boundary=m',
      '',
      '--m',
      '',
      'Hello',
      '--m',
      `Content-Type: ${type}`,
      'Content-Disposition: attachment; filename=file.bin',
      ...(encoding === '' ? [] : [`Content-Transfer-Encoding: ${encoding}`]),
      '',
      encoded[encoding] ?? file,
      '--m--',
    ].join('\r\n');
    const { id, text } = await submit(Buffer.from(data, 'latin1'), ['a@example.com']);
    expect(text).toContain('Accepted');
    const sent = /Type: (.+?);\r\n name="file.bin"[\s\S]*?\r\n\r\n([^-]*)\r\n--/.exec(
      await raw(id),
    );
    expect(Buffer.from(sent?.[2] ?? 'nothing', 'base64').toString('latin1')).toBe(file);
    if (type.startsWith('text/calendar')) expect(sent?.[1]).toBe(type);
  });

  test('repeated headers are kept in order', async () => {
    const data = mail([
      'To: a@example.com',
      'X-Trace: 1',
      'X-Other: x',
      'x-trace: 2',
      'X-Trace: 1',
    ]);
    const { id } = await submit(data, ['a@example.com']);
    const headers = (await content(id)).headers as { name: string; value: string }[];
    const extra = headers.filter(({ name }) => /^x-/i.test(name));
    expect(extra.map(({ name, value }) => `${name}: ${value}`)).toEqual([
      'X-Trace: 1',
      'X-Other: x',
      'x-trace: 2',
      'X-Trace: 1',
    ]);
  });

  test.each([
    ['none', []],
    ['without a domain', ['Message-ID: <x>']],
    ['without brackets', ['Message-ID: x@client.example']],
    ['with more than an ID', ['Message-ID: <x@client.example> <y@client.example>']],
    ['two', ['Message-ID: <x@client.example>', 'Message-ID: <y@client.example>']],
    ['not ASCII', ['Message-ID: <ü@client.example>']],
  ])('a Message-ID that cannot be kept gets replaced: %s', async (_name, headers) => {
    const { id } = await submit(mail(['To: a@example.com', ...headers]), ['a@example.com']);
    const ids = (await raw(id)).match(/^Message-ID: .*$/gim);
    expect(ids).toEqual([`Message-ID: <${id}@example.org>`]);
  });

  test('non-ASCII addresses', async () => {
    using client = await SubmissionClient.connectAndLogIn(port, app.testKey);
    expect(
      (await client.command('MAIL FROM:<hello@example.org> SMTPUTF8 BODY=8BITMIME')).code,
    ).toBe(250);
    expect((await client.command('RCPT TO:<jürgen@bücher.example>')).code).toBe(250);
    expect((await client.command('DATA')).code).toBe(354);
    client.write(`${mail(['To: Jürgen <jürgen@bücher.example>', 'Subject: Grüße'])}\r\n.\r\n`);
    const { text } = await client.reply();
    const id = /msg_\w+/.exec(text)?.[0] ?? '';
    expect(await recipients(id)).toEqual([
      ['to', 'jürgen@xn--bcher-kva.example', expect.any(String)],
    ]);
    expect((await content(id)).subject).toBe('Grüße');
  });
});

describe('the envelope decides the recipients', () => {
  test('a recipient in no header is a blind copy that others do not see', async () => {
    const data = mail(['To: a@example.com', 'Cc: c@example.com', 'Bcc: secret@example.com']);
    const { id } = await submit(data, ['a@example.com', 'hidden@example.com', 'C@Example.com']);
    expect((await recipients(id)).map(([kind, email]) => [kind, email])).toEqual([
      ['to', 'a@example.com'],
      ['cc', 'C@example.com'],
      ['bcc', 'hidden@example.com'],
    ]);
    expect(await raw(id)).not.toMatch(/hidden@|secret@|^bcc:/im);
  });

  test('an address that is only in a header gets nothing and is not shown', async () => {
    const { id } = await submit(mail(['To: a@example.com, other@example.com']), ['a@example.com']);
    expect((await recipients(id)).map(([, email]) => email)).toEqual(['a@example.com']);
    expect(await raw(id)).not.toContain('other@example.com');
  });

  test('blind copies do not see each other', async () => {
    const data = mail(['To: undisclosed-recipients:;']);
    const { id } = await submit(data, ['a@example.com', 'b@example.com']);
    expect((await recipients(id)).map(([kind]) => kind)).toEqual(['bcc', 'bcc']);
    expect(await raw(id)).not.toMatch(/[ab]@example\.com/);
  });

  test.each([
    ['no From', 'To: a@example.com\r\n\r\nHi'],
    ['two From headers', mail(['From: a@example.org', 'From: b@example.org'])],
    ['two senders', mail(['From: a@example.org, b@example.org'])],
    ['a group as sender', mail(['From: Us: a@example.org, b@example.org;'])],
    ['a sender that is not an address', mail(['From: not an address'])],
  ])('%s is rejected', async (_name, data) => {
    expect(await submit(data, ['a@example.com'])).toMatchObject({ code: 550 });
  });

  test('recipients are validated at RCPT, and their number is limited as in the API', async () => {
    using client = await SubmissionClient.connectAndLogIn(port, app.testKey);
    expect((await client.command('MAIL FROM:<>')).code).toBe(250);
    expect(await client.command('RCPT TO:<postmaster>')).toMatchObject({ code: 553 });
    expect(await client.command('RCPT TO:<a@localhost>')).toMatchObject({ code: 553 });
    expect((await client.command('RCPT TO:<a@@b>')).code).toBe(501);
    for (let index = 0; index < LIMITS.recipientsMax; index++) {
      expect((await client.command(`RCPT TO:<r${index}@example.com>`)).code).toBe(250);
    }
    const reply = await client.command('RCPT TO:<more@example.com>');
    expect(reply.code).toBe(452);
    expect(reply.text).toMatch(/^4\.5\.3 /);
  });
});

describe('control headers', () => {
  test('tags, metadata, ttl and schedule are applied and not sent', async () => {
    const at = new Date(Date.now() + 3_600_000).toISOString();
    const { id } = await submit(
      mail([
        'To: a@example.com',
        'X-Postrider-Tag: welcome, eu',
        'x-postrider-tag: third',
        'X-Postrider-Metadata: {"order": "42",',
        ' "name": "J\\u00f6rg"}',
        `X-Postrider-Scheduled-At: ${at}`,
        'X-Postrider-TTL-Seconds: 600',
        'X-Postrider-Track-Opens: false',
      ]),
      ['a@example.com'],
    );
    const { json } = await app.call('GET', `/messages/${id}`);
    expect(json).toMatchObject({
      status: 'scheduled',
      scheduled_at: at,
      tags: ['welcome', 'eu', 'third'],
      metadata: { order: '42', name: 'Jörg' },
      ttl_seconds: 600,
    });
    expect(await raw(id)).not.toMatch(/x-postrider/i);
  });

  test.each([
    ['X-Postrider-Tag: a, , b', 'Must be at least 1 character'],
    ['X-Postrider-Metadata: [1]', 'JSON object'],
    ['X-Postrider-Metadata: {"a": 1}', 'JSON object'],
    ['X-Postrider-Metadata: {"a": "\\u0000"}', 'JSON object'],
    ['X-Postrider-Scheduled-At: tomorrow', 'RFC 3339'],
    ['X-Postrider-TTL-Seconds: 1.5', 'whole number'],
    ['X-Postrider-TTL-Seconds: 0', 'Must be at least 1'],
    ['X-Postrider-Idempotency-Key: a b', 'visible ASCII'],
    ['X-Postrider-Tags: a', 'Unknown header'],
    ['X-Postrider-Track-Clicks: maybe', 'true or false'],
  ])('%s is rejected with an explanation', async (header, explanation) => {
    const { code, text } = await submit(mail(['To: a@example.com', header]), ['a@example.com']);
    expect(code).toBe(550);
    expect(text).toContain(explanation);
  });

  test('a Message-ID is kept, and may repeat', async () => {
    const own = (to: string) =>
      submit(mail([`To: ${to}`, 'Message-ID: <list-1@client.example>']), [to]);
    for (const { id } of [await own('a@example.com'), await own('b@example.com')]) {
      const { json } = await app.call('GET', `/messages/${id}`);
      expect(json.header_message_id).toBe('<list-1@client.example>');
    }
    const found = await app.call('GET', '/messages?header_message_id=list-1@client.example');
    expect(found.json.data).toHaveLength(2);
    const invalid = await submit(mail(['To: a@example.com', 'Message-ID: none']), [
      'a@example.com',
    ]);
    const { json } = await app.call('GET', `/messages/${invalid.id}`);
    expect(json.header_message_id).toContain(invalid.id);
  });

  test('the same idempotency key is the same message, whatever headers the client adds', async () => {
    const key = `X-Postrider-Idempotency-Key: ${crypto.randomUUID()}`;
    const once = (more: string[], body?: string) =>
      submit(mail(['To: a@example.com', key, ...more], body), ['a@example.com']);
    const first = await once(['Message-ID: <1@client>']);
    const again = await once(['Message-ID: <2@client>', 'Date: now']);
    expect(again).toMatchObject({ code: 250, id: first.id });
    expect(await once([], 'Something else')).toMatchObject({ code: 550 });
  });

  test('of images with the same Content-ID, the first is inline', async () => {
    const part = (name: string) => [
      '--r',
      `Content-Type: image/png; name=${name}`,
      'Content-ID: <logo@shop>',
      'Content-Disposition: inline',
      'Content-Transfer-Encoding: base64',
      '',
      'aGk=',
    ];
    const data = [
      'From: hello@example.org',
      'To: jane@example.com',
      'Subject: Twice',
      'Content-Type: multipart/related; boundary=r',
      '',
      '--r',
      'Content-Type: text/html',
      '',
      '<img src="cid:logo@shop">',
      ...[...part('a.png'), ...part('b.png')],
      '--r--',
    ].join('\r\n');
    const { code, id } = await submit(Buffer.from(data), ['jane@example.com']);
    expect(code).toBe(250);
    const { json } = await app.call('GET', `/messages/${id}/content`);
    const files = json.attachments.map(
      ({ filename, content_id }: { filename: string; content_id: string | null }) => [
        filename,
        content_id,
      ],
    );
    expect(files).toEqual([
      ['a.png', 'logo@shop'],
      ['b.png', null],
    ]);
  });
});

describe('authentication', () => {
  test('invalid keys are rejected, and three of them end the connection', async () => {
    using client = await SubmissionClient.connect(port);
    await client.reply();
    await client.command('EHLO client.example');
    expect((await client.command('MAIL FROM:<a@example.org>')).code).toBe(530);
    const wrong = changeLast(app.testKey);
    for (const key of [wrong, '', 'pr_test_x\r\nQUIT']) {
      const reply = await client.login(key);
      expect(reply.code).toBe(535);
      expect(reply.text).toMatch(/^5\.7\.8 /);
    }
    expect((await client.reply()).code).toBe(421);
    expect((await client.reply()).code).toBe(0);
  });

  test('AUTH LOGIN works, with any user name', async () => {
    using client = await SubmissionClient.connect(port);
    await client.reply();
    await client.command('EHLO client.example');
    await client.command('AUTH LOGIN');
    await client.command(Buffer.from('printer@shop').toString('base64'));
    expect((await client.command(Buffer.from(app.testKey).toString('base64'))).code).toBe(235);
  });

  test('a key without the scope or from another network is rejected', async () => {
    using client = await SubmissionClient.connect(port);
    await client.reply();
    await client.command('EHLO client.example');
    const reader = await app.newKey({ scopes: ['read:messages'] });
    expect((await client.login(reader)).text).toContain('send:transactional');
    const elsewhere = await app.newKey({ allowedIps: ['192.0.2.0/24'] });
    expect((await client.login(elsewhere)).text).toContain('127.0.0.1');
    const here = await app.newKey({ allowedIps: ['127.0.0.0/8'] });
    expect((await client.login(here)).code).toBe(235);
  });

  test('a key that is revoked during the session cannot send', async () => {
    const key = await app.newKey({});
    using client = await SubmissionClient.connectAndLogIn(port, key);
    const good = { to: ['a@example.com'], data: mail(['To: a@example.com']) };
    expect((await client.send(good)).code).toBe(250);
    const { json } = await app.call('GET', '/api-keys?limit=100');
    const hint = key.slice(-4);
    const made = json.data.find((one: { token_hint: string }) => one.token_hint.endsWith(hint));
    expect((await app.call('DELETE', `/api-keys/${made.id}`)).status).toBe(200);
    const mailFrom = async () => {
      await client.command('RSET');
      return (await client.command('MAIL FROM:<a@example.org>')).code;
    };
    await expect.poll(mailFrom).toBe(550);
  });

  test('a live key sends only from verified domains of its workspace', async () => {
    const data = mail(['From: a@stranger.example', 'To: a@example.com']);
    const { code, text } = await submit(data, ['a@example.com'], app.liveKey);
    expect(code).toBe(550);
    expect(text).toMatch(/^5\.7\.1 stranger\.example is not a sending domain/);
    const limited = await app.newKey({ allowedDomains: ['shop.example'] });
    expect((await submit(mail(['To: a@example.com']), ['a@example.com'], limited)).text).toMatch(
      /^5\.7\.1 This API key can send only from shop\.example/,
    );
  });

  test('the workspace’s rate limit applies', async () => {
    await using slow = await startApp({
      env: { SUBMISSION_PORT: '0', RATE_LIMIT_PER_SECOND: '1', RATE_LIMIT_BURST: '2' },
    });
    const own = slow.app.submission.port as number;
    using client = await SubmissionClient.connectAndLogIn(own, slow.testKey);
    const replies: string[] = [];
    for (let index = 0; index < 4; index++) {
      replies.push((await client.command('MAIL FROM:<a@example.org>')).text);
      await client.command('RSET');
    }
    expect(replies[0]).toMatch(/^2\.1\.0/);
    expect(replies.some((text) => text.startsWith('4.7.1 The workspace is limited to 1'))).toBe(
      true,
    );
  });

  test('a suppressed recipient is skipped, and the others get the message', async () => {
    await app.call('POST', '/suppressions', { body: { email: 'gone-smtp@example.com' } });
    const to = ['a@example.com', 'gone-smtp@example.com'];
    const { id } = await submit(mail([`To: ${to.join(', ')}`]), to);
    const states = await recipients(id);
    expect(states.find(([, email]) => email === to[1])?.[2]).toBe('suppressed');
    expect(states.find(([, email]) => email === to[0])?.[2]).not.toBe('suppressed');
  });
});

test('many messages on one connection with pipelining', async () => {
  using client = await SubmissionClient.connectAndLogIn(port, app.testKey);
  const tag = `batch-${Date.now()}`;
  const ids: string[] = [];
  for (let index = 0; index < 30; index++) {
    client.write('MAIL FROM:<a@example.org>\r\nRCPT TO:<p@example.com>\r\nDATA\r\n');
    for (let reply = 0; reply < 3; reply++) await client.reply();
    const data = mail(['To: p@example.com', `Subject: ${index}`, `X-Postrider-Tag: ${tag}`]);
    client.write(`${data}\r\n.\r\n${index === 29 ? 'QUIT\r\n' : 'NOOP\r\n'}`);
    const { code, text } = await client.reply();
    expect(code).toBe(250);
    ids.push(text);
    await client.reply();
  }
  const { json } = await app.call('GET', `/messages?tag=${tag}&limit=100`);
  expect(new Set(ids).size).toBe(30);
  expect(json.data.map((one: { subject: string }) => Number(one.subject))).toEqual(
    Array.from({ length: 30 }, (_, index) => 29 - index),
  );
});

test('the API reports the submission port, and connections are counted', async () => {
  const { json } = await app.call('GET', '/smtp');
  expect(json).toEqual({
    open: true,
    closed_because: null,
    host: 'postrider.test',
    port,
    tls_port: null,
    user: 'postrider',
    starttls: false,
    plaintext: 'this_machine',
  });
  await submit(mail(['To: a@example.com']), ['a@example.com']);
  const metrics = await (await fetch(`${app.url}/metrics`)).text();
  expect(metrics).toMatch(/postrider_smtp_messages_total\{code="250".*\} [1-9]/);
  expect(metrics).toMatch(/postrider_smtp_logins_total\{result="accepted".*\} [1-9]/);
});
