import nodemailer from 'nodemailer';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { generateDkimKeys } from '../../../src/mail/dkim/keys.ts';
import {
  type InboundServer,
  OTHER_RECEIVING,
  RECEIVING,
  startInboundServer,
} from '../../harness/smtp/inbound-setup.ts';
import { crlf } from '../../harness/smtp/return-path-setup.ts';
import { SubmissionClient } from '../../harness/smtp/submission-client.ts';
import { until } from '../../harness/until.ts';

/** SPF, DKIM and DMARC of received mail, signed by nodemailer, with the records in a scripted name server. */

const keys = await generateDkimKeys();
let server: InboundServer;

beforeAll(async () => {
  server = await startInboundServer({
    env: { RETURN_PATH_TRUST_PROXY: '127.0.0.1', RETURN_PATH_CONNECTIONS_PER_SOURCE: '150' },
    script: {
      'good.example': { TXT: ['v=spf1 ip4:192.0.2.7 -all'] },
      's1._domainkey.good.example': { TXT: [keys.rsa.txtValue] },
      '_dmarc.good.example': { TXT: ['v=DMARC1; p=reject; sp=quarantine'] },
      'news.good.example': { TXT: ['v=spf1 include:good.example -all'] },
      'other.example': { TXT: ['v=spf1 mx ~all'], MX: ['10 mx.other.example'] },
      'mx.other.example': { A: ['192.0.2.7'] },
      'mx.good.example': { TXT: ['v=spf1 a -all'], A: ['192.0.2.7'] },
      '_dmarc.other.example': { TXT: ['v=DMARC1; p=none'] },
      'long.example': { TXT: [`v=spf1 exists:${'%{'.repeat(2_500)} ip4:192.0.2.7 -all`] },
      'broken.example': { TXT: 'SERVFAIL' },
      '_dmarc.broken.example': { TXT: 'SERVFAIL' },
      ...Object.fromEntries(
        Array.from({ length: 100 }, (_, n) => [
          [`${n}.silent.example`, 'silence'] as const,
          [`_dmarc.${n}.silent.example`, 'silence'] as const,
        ]).flat(),
      ),
      'silent.example': 'silence',
      's1._domainkey.silent.example': 'silence',
      '_dmarc.silent.example': 'silence',
    },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

async function compose(from: string, signedBy?: string, text = 'Hello'): Promise<string> {
  const { message } = await nodemailer
    .createTransport({ streamTransport: true, buffer: true, newline: 'windows' })
    .sendMail({
      from,
      to: `a@${RECEIVING}`,
      subject: 'Signed',
      text,
      ...(signedBy
        ? {
            dkim: {
              domainName: signedBy,
              keySelector: 's1',
              privateKey: keys.rsa.privateKeyPem,
            },
          }
        : {}),
    });
  return message.toString();
}

/** Delivers through a proxy in front of us, which says where the client is. */
async function authenticate(
  data: string,
  mailFrom: string,
  ip = '192.0.2.7',
  helo = 'mx.good.example',
) {
  using client = await connectAndGreetAs(ip, helo);
  const reply = await client.send({ from: mailFrom, to: [`a@${RECEIVING}`], data });
  expect(reply.code).toBe(250);
  return (await server.list('?limit=1'))[0].authentication;
}

async function connectAndGreetAs(ip: string, helo: string) {
  const client = await SubmissionClient.connect(server.port);
  client.write(`PROXY TCP4 ${ip} 127.0.0.1 4711 25\r\n`);
  await client.reply();
  await client.command(`EHLO ${helo}`);
  return client;
}

test('aligned mail passes everything', async () => {
  const mail = await compose('jane@good.example', 'good.example');
  expect(await authenticate(mail, 'jane@good.example')).toEqual({
    spf: { result: 'pass', domain: 'good.example' },
    dkim: [{ result: 'pass', domain: 'good.example', selector: 's1' }],
    dmarc: { result: 'pass', policy: 'reject', domain: 'good.example' },
  });
});

test('a large mail is verified in a worker thread', async () => {
  const mail = await compose('jane@good.example', 'good.example', 'Hello\n'.repeat(40_000));
  expect((await authenticate(mail, 'jane@good.example')).dkim).toMatchObject([{ result: 'pass' }]);
});

test('a changed body fails, and so does another server', async () => {
  const mail = (await compose('jane@good.example', 'good.example')).replace('Hello', 'HELLO');
  expect(await authenticate(mail, 'jane@good.example', '192.0.2.99')).toMatchObject({
    spf: { result: 'fail' },
    dkim: [{ result: expect.stringMatching(/fail|neutral/), domain: 'good.example' }],
    dmarc: { result: 'fail', policy: 'reject' },
  });
});

test('mail that passes for another domain fails DMARC', async () => {
  const mail = await compose('ceo@good.example');
  expect(await authenticate(mail, 'bulk@other.example')).toEqual({
    spf: { result: 'pass', domain: 'other.example' },
    dkim: [],
    dmarc: { result: 'fail', policy: 'reject', domain: 'good.example' },
  });
});

test('a subdomain aligns with its parent, and has its policy', async () => {
  const mail = await compose('a@news.good.example', 'good.example');
  expect(await authenticate(mail, 'bounce@news.good.example')).toMatchObject({
    spf: { result: 'pass', domain: 'news.good.example' },
    dmarc: { result: 'pass', policy: 'quarantine', domain: 'news.good.example' },
  });
});

test('a null sender is checked as the name in HELO', async () => {
  const mail = await compose('mailer-daemon@good.example');
  expect((await authenticate(mail, '')).spf).toEqual({ result: 'pass', domain: 'mx.good.example' });
});

test('several authors have no policy', async () => {
  const mail = crlf('From: a@good.example\nFrom: b@other.example\nSubject: Two\n\nHello');
  expect((await authenticate(mail, 'a@good.example')).dmarc).toEqual({
    result: 'permerror',
    policy: null,
    domain: null,
  });
});

test('a signature does not vouch for another header in front of the signed one', async () => {
  const signed = await compose('jane@good.example', 'good.example');
  const forged = crlf('From: ceo@good.example\nSubject: Forged\n');
  for (const end of ['\r\r\n', '\r\r\r\n']) {
    const results = await authenticate(forged + end + signed, 'bulk@other.example');
    expect(results).toMatchObject({ dkim: [{ result: 'permerror' }], dmarc: { result: 'fail' } });
  }
});

test('long records are not read', async () => {
  const results = await authenticate(await compose('a@long.example'), 'a@long.example');
  expect(results).toMatchObject({ spf: { result: 'none' }, dmarc: { result: 'none' } });
});

test('name servers that fail or stay silent never refuse mail', async () => {
  const broken = await compose('a@broken.example', 'broken.example');
  expect(await authenticate(broken, 'a@broken.example')).toMatchObject({
    spf: { result: 'temperror' },
    dmarc: { result: 'temperror' },
  });
  const silent = await compose('a@silent.example', 'silent.example');
  const before = Date.now();
  expect(await authenticate(silent, 'a@silent.example')).toEqual({
    spf: { result: 'temperror', domain: expect.toBeOneOf([null, 'silent.example']) },
    dkim: [{ result: 'temperror', domain: 'silent.example', selector: 's1' }],
    dmarc: {
      result: 'temperror',
      policy: null,
      domain: expect.toBeOneOf([null, 'silent.example']),
    },
  });
  expect(Date.now() - before).toBeLessThan(7_000);
}, 30_000);

test('hundreds of signatures and endless lines cost little', async () => {
  const one = (await compose('jane@good.example', 'good.example')).match(
    /^DKIM-Signature:[\s\S]*?\r\n(?! )/,
  )?.[0];
  const many = `${one}`.repeat(200) + (await compose('jane@good.example'));
  expect((await authenticate(many, 'jane@good.example')).dkim.length).toBeLessThanOrEqual(5);
  const endless = await compose('jane@good.example', 'good.example');
  const mail = `${endless}\r\n${' '.repeat(8_000_000)}\r\n`;
  const before = performance.now();
  expect((await authenticate(mail, 'jane@good.example')).dkim).toMatchObject([
    { result: 'permerror' },
  ]);
  expect(performance.now() - before).toBeLessThan(5_000);
});

test('mail that waits for silent name servers does not delay that of another workspace', async () => {
  const flood = Array.from({ length: 100 }, async (_, n) => {
    using client = await connectAndGreetAs('192.0.2.7', 'mx.good.example');
    const data = crlf(`From: a@${n}.silent.example\nSubject: Slow ${n}\n\nHello`);
    await client.send({ from: `a@${n}.silent.example`, to: [`a@${RECEIVING}`], data });
  });
  await until(
    () => server.dns.queries.filter(({ name }) => /^\d+\.silent/.test(name)).length >= 20,
  );
  const before = performance.now();
  using client = await connectAndGreetAs('192.0.2.7', 'mx.good.example');
  const data = await compose('jane@good.example', 'good.example');
  const to = [`a@${OTHER_RECEIVING}`];
  expect((await client.send({ from: 'jane@good.example', to, data })).code).toBe(250);
  expect(performance.now() - before).toBeLessThan(2_000);
  await Promise.all(flood);
  const [other] = await server.list('?limit=1', server.other.key);
  expect(other.authentication.dmarc.result).toBe('pass');
}, 60_000);
