import { createHash } from 'node:crypto';
import { dkimVerify } from 'mailauth/lib/dkim/verify.js';
import nodemailer from 'nodemailer';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ListedRecord } from '../../harness/smtp/publish-dns-records.ts';
import {
  type ReturnPathServer,
  startReturnPathServer,
} from '../../harness/smtp/return-path-setup.ts';
import { SubmissionClient } from '../../harness/smtp/submission-client.ts';
import { until } from '../../harness/until.ts';

/**
 * Mail whose structure means something (signatures, invitations, soft line breaks) arrives with the body that its
 * sender composed, byte for byte, under our own header and DKIM signature. The receiver is a real SMTP server.
 */

let server: ReturnPathServer;
let port: number;

beforeAll(async () => {
  server = await startReturnPathServer({ env: { SUBMISSION_PORT: '0' } });
  port = server.app.app.submission.port as number;
});
afterAll(() => server?.[Symbol.asyncDispose]());

interface Arrived {
  id: string;
  /** Unfolded, without our signature. */
  header: string;
  body: string;
  mailParameters: readonly string[];
  // biome-ignore lint/suspicious/noExplicitAny: the content as the API returns it.
  content: any;
}

let count = 0;

/** Submits a mail with a live key and returns what the receiver got. */
async function deliver(head: readonly string[], body: string | Buffer): Promise<Arrived> {
  count += 1;
  const to = `kept${count}@example.com`;
  const header = ['From: hello@example.org', `To: ${to}`, `Subject: ${count}`, ...head, '', ''];
  const data = Buffer.concat([Buffer.from(header.join('\r\n')), Buffer.from(body)]);
  using client = await SubmissionClient.connectAndLogIn(port, server.app.liveKey);
  // The client adds the line break that ends the last line.
  const { code, text } = await client.send({ to: [to], data: doubleDots(data) });
  expect([code, text]).toEqual([250, text]);
  return arrived(to, /msg_\w+/.exec(text)?.[0] ?? '');
}

async function arrived(to: string, id: string): Promise<Arrived> {
  const find = () => server.receiver.messages.find(({ recipients }) => recipients.includes(to));
  await until(() => find() !== undefined, { what: `mail to ${to} arrives` });
  const { raw, mailParameters } = find() as NonNullable<ReturnType<typeof find>>;
  await expectDkim(raw);
  const text = raw.toString('latin1');
  const end = text.indexOf('\r\n\r\n');
  const unfolded = text.slice(0, end).replaceAll(/\r\n[ \t]+/g, ' ');
  const lines = unfolded.split('\r\n').filter((line) => !line.startsWith('DKIM-Signature:'));
  const key = server.app.liveKey;
  const content = (await server.app.call('GET', `/messages/${id}/content`, { key })).json;
  return { id, header: lines.join('\r\n'), body: text.slice(end + 4), mailParameters, content };
}

function doubleDots(data: Buffer): Buffer {
  return Buffer.from(data.toString('latin1').replaceAll(/(^|\r\n)\./g, '$1..'), 'latin1');
}

async function expectDkim(raw: Buffer): Promise<void> {
  const { app } = server;
  const domains = (await app.call('GET', '/domains', { key: app.liveKey })).json.data;
  const { json } = await app.call('GET', `/domains/${domains[0].id}`, { key: app.liveKey });
  const resolver = async (name: string) =>
    (json.records as ListedRecord[]).filter((one) => one.name === name).map((one) => [one.value]);
  const { results } = await dkimVerify(raw, { resolver });
  const verdicts = results.map(({ status }: { status: { result: string } }) => status.result);
  expect(new Set(verdicts)).toEqual(new Set(['pass']));
}

const lines = (...text: string[]): string => text.join('\r\n');

test('a PGP/MIME signature covers the same bytes', async () => {
  // Trailing spaces, a line of dots and odd header order are what composing again would change.
  const signed = lines(
    'Content-Type: text/plain; charset=us-ascii; protected-headers="v1"',
    'Content-Language: en-US',
    '',
    'Signed  text with trailing spaces   ',
    '.',
    '..two',
    'From the start of a line',
    '',
  );
  const body = lines(
    'This is an OpenPGP/MIME signed message (RFC 4880 and 3156)',
    '--b1',
    `${signed}`,
    '--b1',
    'Content-Type: application/pgp-signature; name="OpenPGP_signature.asc"',
    'Content-Description: OpenPGP digital signature',
    '',
    '-----BEGIN PGP SIGNATURE-----',
    createHash('sha256').update(signed).digest('base64'),
    '-----END PGP SIGNATURE-----',
    '--b1--',
    '',
  );
  const type =
    'multipart/signed; micalg=pgp-sha256; protocol="application/pgp-signature"; boundary="b1"';
  const got = await deliver(
    ['MIME-Version: 1.0', `Content-Type: ${type}`, 'Bcc: secret@example.com'],
    body,
  );
  expect(got.body).toBe(`${body}\r\n`);
  expect(got.header.match(/^Content-Type: .*$/gm)).toEqual([`Content-Type: ${type}`]);
  expect(got.header.match(/^MIME-Version: .*$/gm)).toEqual(['MIME-Version: 1.0']);
  expect(got.header).not.toMatch(/secret@|^bcc/im);
  // The signature in the mail matches what arrived.
  const [, part = ''] = got.body.split(/\r\n--b1(?:--)?\r\n/);
  expect(got.body).toContain(createHash('sha256').update(part).digest('base64'));
  expect(got.content).toMatchObject({
    text: expect.stringContaining('Signed  text'),
    attachments: [{ filename: 'OpenPGP_signature.asc' }],
  });
});

test.each([
  [
    'PGP/MIME encryption',
    ['Content-Type: multipart/encrypted; protocol="application/pgp-encrypted"; boundary=e'],
    lines(
      '--e',
      'Content-Type: application/pgp-encrypted',
      '',
      'Version: 1',
      '',
      '--e',
      'Content-Type: application/octet-stream; name="encrypted.asc"',
      '',
      '-----BEGIN PGP MESSAGE-----',
      'hQEMA',
      '-----END PGP MESSAGE-----',
      '--e--',
      '',
    ),
  ],
  [
    'S/MIME',
    [
      'Content-Type: application/pkcs7-mime; smime-type=enveloped-data; name="smime.p7m"',
      'Content-Transfer-Encoding: base64',
      'Content-Disposition: attachment; filename="smime.p7m"',
    ],
    lines('MIIBhQYJKoZIhvcNAQcDoIIBdjCC', 'AXICAQAxggEa', ''),
  ],
  [
    'a report',
    ['Content-Type: multipart/report; report-type=disposition-notification; boundary=r'],
    lines(
      '--r',
      '',
      'Read.',
      '--r',
      'Content-Type: message/disposition-notification',
      '',
      'Disposition: manual-action/MDN-sent-manually; displayed',
      '--r--',
    ),
  ],
  [
    'format=flowed with quotes',
    [
      'Content-Type: text/plain; charset=utf-8; format=flowed; delsp=yes',
      'Content-Transfer-Encoding: 8bit',
    ],
    lines(
      '> A quoted paragraph that ',
      '> wraps too.',
      '',
      'Grüße, a long paragraph ',
      'that ends.',
    ),
  ],
  [
    'a single file',
    ['Content-Type: application/pdf', 'Content-Transfer-Encoding: base64'],
    'JVBER',
  ],
])('%s passes unchanged', async (_name, head, body) => {
  const got = await deliver(['MIME-Version: 1.0', ...head], body);
  expect(got.body).toBe(`${Buffer.from(body).toString('latin1')}\r\n`);
  for (const field of head) expect(got.header.split('\r\n')).toContain(field);
  expect(got.header.match(/^content-/gim)).toHaveLength(head.length);
  expect(got.mailParameters.includes('BODY=8BITMIME')).toBe(/[^\0-\x7f]/.test(body));
});

test('an invitation and an AMP version by nodemailer stay alternatives', async () => {
  const to = 'nodemailer@example.com';
  const transport = nodemailer.createTransport({
    host: '127.0.0.1',
    port,
    secure: false,
    ignoreTLS: true,
    auth: { user: 'postrider', pass: server.app.liveKey },
  });
  const calendar = lines('BEGIN:VCALENDAR', 'METHOD:REQUEST', 'END:VCALENDAR', '');
  const composed = await nodemailer
    .createTransport({ streamTransport: true, buffer: true, newline: 'windows' })
    .sendMail({
      from: 'hello@example.org',
      to,
      bcc: 'hidden@example.com',
      subject: 'Grüße',
      text: 'Grüße',
      html: '<p>Grüße</p>',
      amp: '<!doctype html><html ⚡4email><body>AMP</body></html>',
      icalEvent: { method: 'REQUEST', content: calendar },
      attachments: [{ filename: 'a.bin', content: Buffer.from([0, 1, 255]) }],
    });
  const raw = String(composed.message);
  const envelope = { from: 'hello@example.org', to: [to] };
  const { response } = await transport.sendMail({ envelope, raw });
  transport.close();
  const { header, body, content } = await arrived(to, /msg_\w+/.exec(response ?? '')?.[0] ?? '');
  expect(header).toMatch(/^Content-Type: multipart\/mixed;/m);
  expect(header).not.toContain('hidden@');
  expect(body.trimEnd()).toBe(raw.slice(raw.indexOf('\r\n\r\n') + 4).trimEnd());
  const types = [...body.matchAll(/^Content-Type: ([^;\r\n]+)/gm)].map(([, type]) => type);
  expect(types).toEqual([
    'multipart/alternative',
    'text/plain',
    'text/x-amp-html',
    'text/html',
    'text/calendar',
    'application/octet-stream',
    'application/ics',
  ]);
  expect(body).toMatch(/^Content-Type: text\/calendar; charset=utf-8; method=REQUEST\r$/m);
  expect(content).toMatchObject({ subject: 'Grüße', html: '<p>Grüße</p>', text: 'Grüße' });
});

test('a long thread through many servers keeps its headers', async () => {
  const ids = Array.from({ length: 40 }, (_, n) => `<${n}.${'x'.repeat(60)}@mail.example.net>`);
  const extra = Array.from({ length: 30 }, (_, n) => `X-MS-Exchange-${n}: ${'v'.repeat(50)}`);
  const got = await deliver([`References: ${ids.join('\r\n ')}`, ...extra], 'Hello');
  expect(got.header).toContain(`References: ${ids.join(' ')}`);
  for (const field of extra) expect(got.header.split('\r\n')).toContain(field);

  using client = await SubmissionClient.connectAndLogIn(port, server.app.liveKey);
  const data = `From: hello@example.org\r\nX-Long: ${'y '.repeat(25_000)}\r\n\r\nHi`;
  expect(await client.send({ to: ['a@example.com'], data })).toMatchObject({
    code: 550,
    text: expect.stringContaining('in total'),
  });
});

test('signed mail that cannot be sent unchanged is rejected, other mail is composed again', async () => {
  const long = 'x'.repeat(999);
  const send = async (type: string, body: string) => {
    using client = await SubmissionClient.connectAndLogIn(port, server.app.testKey);
    const data = `From: hello@example.org\r\nContent-Type: ${type}\r\n\r\n${body}`;
    return await client.send({ to: ['a@example.com'], data });
  };
  const parts = (kind: string) =>
    lines('--b', '', long, '--b', `Content-Type: ${kind}`, '', 'x', '--b--');
  expect(
    await send('multipart/signed; boundary=b', parts('application/pgp-signature')),
  ).toMatchObject({ code: 550, text: expect.stringMatching(/signed or encrypted.*998 bytes/) });
  expect(await send('multipart/alternative; boundary=b', parts('text/calendar'))).toMatchObject({
    code: 250,
  });
});

test('a repeated mail with other boundaries is the same mail', async () => {
  const mail = (boundary: string, invitation: string) =>
    lines(
      'From: hello@example.org',
      'X-Postrider-Idempotency-Key: invitation-1',
      `Content-Type: multipart/alternative; boundary=${boundary}`,
      '',
      `--${boundary}`,
      '',
      'Hi',
      `--${boundary}`,
      'Content-Type: text/calendar; method=REQUEST',
      '',
      invitation,
      `--${boundary}--`,
    );
  using client = await SubmissionClient.connectAndLogIn(port, server.app.testKey);
  const send = (data: string) => client.send({ to: ['a@example.com'], data });
  const first = await send(mail('one', 'BEGIN:1'));
  expect(first.code).toBe(250);
  expect((await send(mail('two', 'BEGIN:1'))).text).toBe(first.text);
  expect((await send(mail('two', 'BEGIN:2'))).code).toBe(550);
});

test('mail sent by HTTP is kept too, and gets the line endings of SMTP', async () => {
  const to = 'raw@example.com';
  const head = ['From: hello@example.org', `To: ${to}, other@example.com`, 'Subject: Raw'];
  const type = 'Content-Type: multipart/signed; protocol="application/pgp-signature"; boundary=s';
  const body = ['--s', '', 'Signed  text  ', '--s', '', 'signature', '--s--', ''];
  const raw = Buffer.from([...head, type, '', ...body].join('\n')).toString('base64');
  const sent = await server.app.call('POST', '/transactional/raw', {
    key: server.app.liveKey,
    body: { raw, recipients: [to, 'blind@example.com'], metadata: { order: '17' } },
  });
  expect(sent.status).toBe(202);
  const got = await arrived(to, sent.json.id);
  expect(got.body).toBe(lines(...body));
  expect(got.header).toContain(`To: ${to}`);
  expect(got.header).not.toMatch(/other@|blind@/);
  const { json } = await server.app.call('GET', `/messages/${sent.json.id}`, {
    key: server.app.liveKey,
  });
  expect(json).toMatchObject({ metadata: { order: '17' } });
  expect(
    json.recipients.map(({ email, kind }: { email: string; kind: string }) => [email, kind]),
  ).toEqual([
    [to, 'to'],
    ['blind@example.com', 'bcc'],
  ]);
});

test('without recipients, mail sent by HTTP goes to all addresses in its header', async () => {
  const raw =
    'From: a@example.org\nTo: A <a@example.com>\nCc: b@example.com\nBcc: c@example.com\n\nHi';
  const sent = await server.app.call('POST', '/transactional/raw', {
    key: server.app.testKey,
    body: { raw: Buffer.from(raw).toString('base64') },
  });
  expect(sent.status).toBe(202);
  expect(sent.json.recipients.map(({ email }: { email: string }) => email)).toEqual([
    'a@example.com',
    'b@example.com',
    'c@example.com',
  ]);
});

test.each<[string, string | Buffer, object, number, RegExp]>([
  ['text that is not base64', '*', {}, 422, /\/raw/],
  ['no sender', 'To: a@example.com\n\nHi', {}, 400, /one From header/],
  ['no recipients', 'From: a@example.org\n\nHi', {}, 400, /no recipients/],
  ['a lone CR', 'From: a@example.org\nTo: a@example.com\n\nHi\rthere', {}, 400, /CR without LF/],
  ['a NUL byte', 'From: a@example.org\nTo: a@example.com\n\nHi\0', {}, 400, /NUL/],
  ['an invalid recipient', 'From: a@example.org\n\nHi', { recipients: ['x'] }, 422, /\/recipients/],
  ['an invalid address', 'From: a@example.org\nTo: <a@b@c>\n\nHi', {}, 422, /\/raw/],
  [
    'an unknown option',
    'From: a@example.org\nTo: a@example.com\nX-Postrider-Foo: 1\n\nHi',
    {},
    422,
    /X-Postrider-Foo/,
  ],
])('mail sent by HTTP is refused for %s', async (_what, mail, more, status, detail) => {
  const raw = mail === '*' ? '*' : Buffer.from(mail).toString('base64');
  const { json } = await server.app.call('POST', '/transactional/raw', {
    key: server.app.testKey,
    body: { raw, ...more },
  });
  expect(json).toMatchObject({ status, detail: expect.stringMatching(detail) });
});
