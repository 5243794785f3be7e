// Goal: our signatures verify with an independent implementation, for any message, and fail when
// anything they cover is changed. Method: mailauth verifies against a resolver that serves the
// records of our keys; examples of known pitfalls, and properties over arbitrary content.
import { createPublicKey } from 'node:crypto';
import fc from 'fast-check';
import { dkimVerify } from 'mailauth/lib/dkim/verify.js';
import { describe, expect, it } from 'vitest';
import { generateThreePrimeKey } from '../../lib/crypto/rsa-key.ts';
import { type NamedMailbox, parseMailbox } from '../address.ts';
import { compose } from '../mime/compose.ts';
import { generateDkimKeys, loadPrivateKey } from './keys.ts';
import { type DkimKey, signDkim } from './sign.ts';

const generated = await generateDkimKeys();
const dateMs = Date.UTC(2026, 0, 5);
const rsaKey: DkimKey = {
  algorithm: 'rsa',
  domain: 'example.com',
  selector: 'pr1',
  privateKey: loadPrivateKey(generated.rsa.privateKeyPem),
};
const edKey: DkimKey = {
  algorithm: 'ed25519',
  domain: 'example.com',
  selector: 'pr1e',
  privateKey: loadPrivateKey(generated.ed25519.privateKeyPem),
};

async function resolver(name: string): Promise<string[][]> {
  const records: Record<string, string> = {
    'pr1._domainkey.example.com': generated.rsa.txtValue,
    'pr1e._domainkey.example.com': generated.ed25519.txtValue,
  };
  const value = records[name];
  if (value === undefined) throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' });
  return [value.match(/.{1,255}/g) ?? []];
}

async function verdicts(raw: Buffer): Promise<string[]> {
  const { results } = await dkimVerify(raw, { resolver, curTime: new Date(dateMs + 1000) });
  return results.map((result) => `${result.status.result}${result.status.comment ?? ''}`);
}

async function signedMessage(raw: Buffer, keys: DkimKey[]): Promise<Buffer> {
  return Buffer.concat([Buffer.from(await signDkim(raw, keys, { dateMs })), raw]);
}

async function expectPass(raw: Buffer, keys: DkimKey[] = [edKey]): Promise<void> {
  expect(await verdicts(await signedMessage(raw, keys))).toEqual(keys.map(() => 'pass'));
}

const header = 'From: Acme <hello@example.com>\r\nTo: jane@example.org\r\nSubject: Hello\r\n';
const message = (body: string, head = header): Buffer => Buffer.from(`${head}\r\n${body}`);

describe('a DKIM signature', () => {
  it('is created for each key, and each verifies', async () => {
    await expectPass(message('Hello\r\n'), [rsaKey, edKey]);
    expect(await signDkim(message('Hello\r\n'), [], { dateMs })).toBe('');
  });

  it('verifies with an RSA key of three primes, on every architecture', async () => {
    const key = { ...rsaKey, privateKey: await generateThreePrimeKey() };
    const published = createPublicKey(key.privateKey).export({ type: 'spki', format: 'der' });
    const signed = await signedMessage(message('Hello\r\n'), [key]);
    const { results } = await dkimVerify(signed, {
      resolver: async () => [[`v=DKIM1; k=rsa; p=${published.toString('base64')}`]],
      curTime: new Date(dateMs + 1000),
    });
    expect(results.map(({ status }) => status.result)).toEqual(['pass']);
  });

  it('is a well-folded field with a time and no expiry', async () => {
    const field = await signDkim(message('Hello\r\n'), [rsaKey], { dateMs });
    const lines = field.split('\r\n');
    expect(lines.pop()).toBe('');
    expect(lines.every((line) => line.length <= 76 && !/[ \t]$/.test(line))).toBe(true);
    expect(lines.slice(1).every((line) => /^ \S/.test(line))).toBe(true);
    expect(field).toContain('d=example.com;\r\n s=pr1; t=1767571200;');
    expect(field).not.toMatch(/[ ;]x=/);
    expect(field.replaceAll('\r\n ', '')).toContain(
      'h=From:From:To:To:Cc:Subject:Subject:Date:Reply-To:Message-ID:In-Reply-To:References:' +
        'MIME-Version:Content-Type;',
    );
  });

  it('survives fields that lists and relays add to mail without them', async () => {
    const raw = await signedMessage(message('Hello\r\n'), [rsaKey, edKey]);
    const forwarded = raw
      .toString('latin1')
      .replace(
        'To: jane',
        'List-Unsubscribe: <mailto:leave@list.example>\r\nList-Id: <l.list.example>\r\n' +
          'Content-Transfer-Encoding: 7bit\r\nTo: jane',
      );
    expect(await verdicts(Buffer.from(forwarded, 'latin1'))).toEqual(['pass', 'pass']);
  });

  it.each([
    ['Feedback-ID', '1:acme:receipts'],
    ['List-Id', '<news.example.com>'],
    ['BIMI-Selector', 'v=BIMI1; s=brand'],
    ['List-Unsubscribe', '<https://example.com/u>'],
    ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'],
    ['Content-Transfer-Encoding', '7bit'],
  ])('covers %s where it is present', async (name, value) => {
    const raw = await signedMessage(message('Hello\r\n', `${header}${name}: ${value}\r\n`), [
      edKey,
    ]);
    const text = raw.toString('latin1');
    expect(await verdicts(raw)).toEqual(['pass']);
    const changed = text.replace(`${name}: ${value}`, `${name}: other`);
    const doubled = text.replace(`${name}: ${value}`, `${name}: other\r\n${name}: ${value}`);
    for (const other of [changed, doubled]) {
      expect((await verdicts(Buffer.from(other, 'latin1')))[0]).not.toMatch(/^pass/);
    }
  });

  it('verifies when a field occurs more than once', async () => {
    const fields = 'References: <1@a>\r\nX-Trace: 1\r\nReferences: <2@a>\r\nX-Trace: 2\r\n';
    await expectPass(message('Hello\r\n', header + fields), [rsaKey, edKey]);
  });

  it.each([
    ['no body', ''],
    ['an empty line', '\r\n'],
    ['only blanks', ' \t\r\n  \r\n'],
    ['no final line break', 'Hello'],
    ['a blank at the end', 'Hello \t'],
    ['blank lines at the end', 'Hello\r\n\r\n \r\n\t\r\n'],
    ['tabs and runs of blanks', 'a\t\tb   c \t d\r\n\tx  \r\n'],
    ['leading blanks', '   a\r\n b\r\n\r\n c\r\n'],
    ['octets above 127', 'Grüße\u00a0\r\n\u0085\r\n'],
  ])('verifies over a body with %s', async (_, body) => {
    await expectPass(message(body));
  });

  it.each([
    ['without a body or a blank line', Buffer.from(header)],
    [
      'with folded fields',
      message('x', 'From: a@example.com\r\nSubject:  one\r\n\ttwo \r\n  three\t\r\n'),
    ],
    ['with odd spelling', message('x', 'FROM : a@example.com\r\nsUbJeCt:x\r\nTo:\r\n')],
    [
      'with doubled fields',
      message('x', 'From: a@example.com\r\nReferences: <1@x>\r\nreferences: <2@x>\r\n'),
    ],
    ['with raw UTF-8', message('x', 'From: jörg\u00a0@example.com\r\nSubject: \u00a0x\u00a0\r\n')],
  ])('verifies over a message %s', async (_, raw) => {
    await expectPass(raw);
  });

  it('verifies over a body larger than a block, wherever the blanks are', async () => {
    for (const offset of [-3, -2, -1, 0, 1]) {
      const filler = 'x'.repeat(64 * 1024 + offset);
      await expectPass(
        message(`${filler} \t\r\n${filler}  ${filler}\r\n${' '.repeat(70_000)}y\r\n`),
      );
      await expectPass(message(`${filler}\r\n${filler} \r\n${'z\r\n'.repeat(40_000)}`));
    }
  });

  it('fails when a covered part is changed, added or duplicated', async () => {
    const raw = await signedMessage(message('Hello\r\n'), [rsaKey, edKey]);
    const text = raw.toString('latin1');
    const tampered = [
      text.replace('\r\n\r\nHello', '\r\n\r\nHullo'),
      text.replace('Subject: Hello', 'Subject: Hullo'),
      text.replace('From: Acme', 'From: Evil <evil@example.net>\r\nFrom: Acme'),
      text.replace('To: jane', 'Reply-To: evil@example.net\r\nTo: jane'),
      text.replace('To: jane', 'Content-Type: text/html\r\nTo: jane'),
      text.replace('Subject: Hello', 'Subject: Hello\r\nSubject: Hullo'),
    ];
    for (const other of tampered) {
      expect(other).not.toBe(text);
      const results = await verdicts(Buffer.from(other, 'latin1'));
      expect(results).toHaveLength(2);
      expect(results.every((result) => !result.startsWith('pass'))).toBe(true);
    }
    const harmless = text.replace('Subject: Hello', 'X-Trace: 1\r\nsubject:  Hello ');
    expect(await verdicts(Buffer.from(harmless, 'latin1'))).toEqual(['pass', 'pass']);
  });

  it('verifies over any body', async () => {
    const piece = fc.oneof(
      fc.constantFrom('\r\n', '\r\n\r\n', ' ', '\t', '  ', '.', 'a', 'ü', '\0'),
      fc.string({ unit: 'binary', maxLength: 20 }).map((text) => text.replace(/[\r\n]/g, '')),
    );
    const body = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''));
    await fc.assert(
      fc.asyncProperty(body, async (text) => expectPass(message(text))),
      { numRuns: 400 },
    );
  });

  it('verifies over anything that compose produces', async () => {
    const from: NamedMailbox = mailbox('hello@example.com');
    const text = fc.string({ unit: 'grapheme', maxLength: 300 });
    const fitText = text.map((given) => given.replace(/[\r\n\0]/g, ' '));
    await fc.assert(
      fc.asyncProperty(fitText, fitText, text, text, async (subject, name, html, plain) => {
        const raw = compose({
          messageId: 'm@example.com',
          dateMs,
          from: { ...from, name },
          to: [mailbox('jane@example.org')],
          cc: [],
          replyTo: [],
          subject,
          html,
          text: plain,
          headers: [['List-Unsubscribe', '<https://example.com/u>']],
          attachments: [],
        });
        await expectPass(raw);
      }),
      { numRuns: 200 },
    );
  });
});

function mailbox(email: string): NamedMailbox {
  const parsed = parseMailbox(email);
  if (!parsed.ok) throw new Error(parsed.detail);
  return parsed.mailbox;
}
