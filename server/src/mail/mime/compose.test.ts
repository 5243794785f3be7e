// Goal: a mail client shows exactly what the caller gave, and the bytes follow the line rules of
// SMTP. Method: properties that parse the composed bytes with postal-mime, and examples of the
// structure.
import fc from 'fast-check';
import PostalMime from 'postal-mime';
import { describe, expect, it } from 'vitest';
import { type NamedMailbox, parseMailbox } from '../address.ts';
import type { Attachment } from './attachment.ts';
import { compose, needsSmtpUtf8, type OutgoingMail } from './compose.ts';

function mailbox(email: string, name?: string): NamedMailbox {
  const parsed = parseMailbox(email);
  if (!parsed.ok) throw new Error(parsed.detail);
  return name === undefined ? parsed.mailbox : { ...parsed.mailbox, name };
}

function outgoing(overrides: Partial<OutgoingMail> = {}): OutgoingMail {
  return {
    messageId: 'msg_01jcn0p8w2e9tav4w3mtbk6a7q@mail.example.com',
    dateMs: Date.UTC(2026, 0, 5, 9, 8, 7, 654),
    from: mailbox('hello@example.com', 'Acme'),
    to: [mailbox('jane@example.org', 'Jane Doe')],
    cc: [],
    replyTo: [],
    subject: 'Welcome',
    html: '<p>Hello</p>',
    text: 'Hello',
    headers: [],
    attachments: [],
    ...overrides,
  };
}

const png: Attachment = {
  filename: 'logo.png',
  content: Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2]),
  contentType: 'image/png',
  contentId: 'logo@example.com',
};
const pdf: Attachment = {
  filename: 'Rechnung März.pdf',
  content: Buffer.alloc(1000, 7),
  contentType: 'application/pdf',
};

function expectSoundLines(raw: Buffer): void {
  const text = raw.toString('latin1');
  expect(text.endsWith('\r\n')).toBe(true);
  const lines = text.slice(0, -2).split('\r\n');
  const isBroken = (line: string): boolean => line.length > 998 || /[\r\n\0]/.test(line);
  expect(lines.filter(isBroken)).toEqual([]);
}

/** Normalizes line breaks; postal-mime may count the one before a delimiter as part of the body. */
function expectShown(shown: string | undefined, given: string): void {
  const withUnixLineBreaks = (text: string): string => text.replace(/\r\n?/g, '\n');
  const wanted = withUnixLineBreaks(given.toWellFormed());
  expect([wanted, `${wanted}\n`]).toContain(withUnixLineBreaks(shown ?? ''));
}

function bytesOf(content: ArrayBuffer | Uint8Array | string | undefined): Buffer {
  if (content === undefined || typeof content === 'string') throw new Error('no bytes');
  return Buffer.from(content as ArrayBuffer);
}

const anyText = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 100 }),
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.constantFrom(
        '\r\n',
        '\n',
        '\r',
        '\n\n',
        ' \n',
        '\t\r\n',
        '.\n',
        '\n.\n',
        '\nFrom me',
        '=',
      ),
      fc.constantFrom(
        'a'.repeat(74),
        'a'.repeat(75),
        'a'.repeat(76),
        'x '.repeat(600),
        '日本語'.repeat(50),
      ),
      fc.constantFrom(
        'é',
        '--',
        '--=_a_',
        '\0',
        '\u001b',
        '=3D',
        '&amp;',
        '👩‍👩‍👧',
        '='.repeat(90),
      ),
    ),
    { maxLength: 25 },
  )
  .map((pieces) => pieces.join(''));

describe('compose', () => {
  it('writes a plain message in readable form', () => {
    expect(compose(outgoing({ html: '', headers: [['X-Campaign', 'spring']] })).toString()).toBe(
      [
        'From: Acme <hello@example.com>',
        'To: Jane Doe <jane@example.org>',
        'Subject: Welcome',
        'Message-ID: <msg_01jcn0p8w2e9tav4w3mtbk6a7q@mail.example.com>',
        'Date: Mon, 05 Jan 2026 09:08:07 +0000',
        'X-Campaign: spring',
        'MIME-Version: 1.0',
        'Content-Type: text/plain; charset=utf-8',
        'Content-Transfer-Encoding: 7bit',
        '',
        'Hello',
        '',
      ].join('\r\n'),
    );
  });

  it('dates each message by its own time', () => {
    const dateAt = (dateMs: number): string | undefined =>
      /^Date: (.+)\r$/m.exec(compose(outgoing({ dateMs })).toString())?.[1];
    const noonMs = Date.UTC(2026, 0, 5, 12);
    expect([0, 999, 1_000, 0].map((ms) => dateAt(noonMs + ms))).toEqual([
      'Mon, 05 Jan 2026 12:00:00 +0000',
      'Mon, 05 Jan 2026 12:00:00 +0000',
      'Mon, 05 Jan 2026 12:00:01 +0000',
      'Mon, 05 Jan 2026 12:00:00 +0000',
    ]);
  });

  it('produces the same bytes for the same message, and different boundaries for another', () => {
    const message = outgoing({ attachments: [png, pdf] });
    expect(compose({ ...message }).equals(compose(message))).toBe(true);
    const boundaries = (raw: Buffer): string[] => raw.toString().match(/boundary="[^"]+"/g) ?? [];
    const first = boundaries(compose(message));
    const second = boundaries(compose({ ...message, messageId: 'other@mail.example.com' }));
    expect(new Set([...first, ...second]).size).toBe(6);
  });

  it('nests files around alternatives around inline images', async () => {
    const raw = compose(
      outgoing({ html: '<img src="cid:logo@example.com">', attachments: [png, pdf] }),
    );
    expect(raw.toString().match(/^Content-(?:Type: [^;\r]+|Disposition: \w+)/gm)).toEqual([
      'Content-Type: multipart/mixed',
      'Content-Type: multipart/alternative',
      'Content-Type: text/plain',
      'Content-Type: multipart/related',
      'Content-Type: text/html',
      'Content-Type: image/png',
      'Content-Disposition: inline',
      'Content-Type: application/pdf',
      'Content-Disposition: attachment',
    ]);
    const email = await PostalMime.parse(raw);
    expect(email.attachments).toMatchObject([
      {
        filename: 'logo.png',
        mimeType: 'image/png',
        related: true,
        contentId: '<logo@example.com>',
      },
      { filename: 'Rechnung März.pdf', mimeType: 'application/pdf', disposition: 'attachment' },
    ]);
    expect(bytesOf(email.attachments[0]?.content).equals(png.content)).toBe(true);
    expect(bytesOf(email.attachments[1]?.content).equals(pdf.content)).toBe(true);
  });

  it('omits an empty part', async () => {
    expect(compose(outgoing({ text: '' })).toString()).not.toContain('multipart');
    expect((await PostalMime.parse(compose(outgoing({ text: '' })))).html).toContain(
      '<p>Hello</p>',
    );
    const empty = compose(outgoing({ html: '', text: '' }));
    expect(empty.toString().endsWith('7bit\r\n\r\n')).toBe(true);
    const filesOnly = await PostalMime.parse(compose(outgoing({ html: '', attachments: [png] })));
    expect(filesOnly.attachments).toMatchObject([
      { filename: 'logo.png', disposition: 'attachment' },
    ]);
  });

  it('chooses the encoding that suits the text', () => {
    const encodingOf = (text: string): string | undefined =>
      /Encoding: (\S+)/.exec(compose(outgoing({ html: '', text })).toString())?.[1];
    expect(encodingOf('Hello\n\nJane')).toBe('7bit');
    expect(encodingOf('x'.repeat(79))).toBe('quoted-printable');
    expect(encodingOf('trailing \nblank')).toBe('quoted-printable');
    expect(encodingOf('\nFrom me')).toBe('quoted-printable');
    expect(encodingOf('a\n.\nb')).toBe('quoted-printable');
    expect(encodingOf('Viele Grüße aus dem schönen Köln am Rhein')).toBe('quoted-printable');
    expect(encodingOf('ようこそ')).toBe('base64');
  });

  it('cannot be split by text that contains the boundary', async () => {
    const boundary = /boundary="(=_a_[^"]+)"/.exec(compose(outgoing()).toString())?.[1];
    const text = `before\n--${boundary}\nContent-Type: text/html\n\n<b>forged</b>\n--${boundary}--\nafter`;
    const email = await PostalMime.parse(compose(outgoing({ text })));
    expect(email.text?.trim()).toBe(text);
    expect(email.html?.trim()).toBe('<p>Hello</p>');
  });

  it('rejects reserved headers and invalid message ids', () => {
    for (const name of ['Bcc', 'from', 'DKIM-Signature', 'Content-Type', 'X Y', 'X:\r\nBcc']) {
      expect(() => compose(outgoing({ headers: [[name, 'x']] }))).toThrow(/valid custom header/);
    }
    expect(() => compose(outgoing({ messageId: 'a>\r\nBcc: <b@c' }))).toThrow(/message id/);
    const attachments = [{ ...png, contentId: 'a>\r\nX: 1' }];
    expect(() => compose(outgoing({ attachments }))).toThrow(/Content-ID/);
  });

  it('sends multipart and message types as plain files', async () => {
    for (const contentType of ['message/rfc822', 'multipart/mixed', 'nonsense', 'a/b\r\nX: 1']) {
      const content = Buffer.from('From: x@example.com\n\nhi\n');
      const attachments = [{ filename: 'forwarded.eml', content, contentType }];
      const email = await PostalMime.parse(compose(outgoing({ attachments })));
      expect(email.attachments).toMatchObject([
        { filename: 'forwarded.eml', mimeType: 'application/octet-stream' },
      ]);
      expect(bytesOf(email.attachments[0]?.content).equals(content)).toBe(true);
    }
    const calendar = { ...pdf, contentType: 'text/calendar; method=REQUEST; charset="utf-8"' };
    const email = await PostalMime.parse(compose(outgoing({ attachments: [calendar] })));
    expect(email.attachments).toMatchObject([{ mimeType: 'text/calendar', method: 'REQUEST' }]);
  });

  it('detects when SMTPUTF8 is required', () => {
    expect(needsSmtpUtf8(outgoing())).toBe(false);
    expect(needsSmtpUtf8(outgoing({ to: [mailbox('jörg@example.com')] }))).toBe(true);
    expect(needsSmtpUtf8(outgoing({ replyTo: [mailbox('jörg@example.com')] }))).toBe(true);
    expect(needsSmtpUtf8(outgoing({ cc: [mailbox('jane@münchen.de', 'Jörg')] }))).toBe(false);
  });

  it('preserves any text', async () => {
    await fc.assert(
      fc.asyncProperty(anyText, anyText, async (html, text) => {
        const raw = compose(outgoing({ html: `<p>${html}`, text: `.${text}` }));
        expectSoundLines(raw);
        const email = await PostalMime.parse(raw);
        expect(email.headers).toHaveLength(7);
        expectShown(email.text, `.${text}`);
        expectShown(email.html, `<p>${html}`);
      }),
      { numRuns: 500 },
    );
  });

  it('preserves any subject, name, header and file', async () => {
    const fitText = anyText.map((text) => text.replace(/[\r\n\0]/g, ' ').slice(0, 400));
    const file = fc.record({ filename: anyText, content: fc.uint8Array({ maxLength: 300 }) });
    await fc.assert(
      fc.asyncProperty(fitText, fitText, fitText, file, async (subject, name, value, given) => {
        const attachment = { ...given, content: Buffer.from(given.content), contentType: 'a/b' };
        const raw = compose(
          outgoing({
            subject,
            from: mailbox('hello@example.com', name),
            headers: [['X-Campaign', value]],
            attachments: [attachment],
          }),
        );
        expectSoundLines(raw);
        const email = await PostalMime.parse(raw);
        expect(email.headers.map((header) => header.key)).toEqual([
          'from',
          'to',
          'subject',
          'message-id',
          'date',
          'x-campaign',
          'mime-version',
          'content-type',
        ]);
        expect(email.from?.address).toBe('hello@example.com');
        expect(email.to).toMatchObject([{ address: 'jane@example.org' }]);
        expect(email.text).toBe('Hello\n');
        expect(email.attachments).toHaveLength(1);
        expect(bytesOf(email.attachments[0]?.content).equals(attachment.content)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});
