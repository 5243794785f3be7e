// Goal: text never leaves its own header field, and a mail client shows it unchanged. Method:
// examples of the encoded form, and properties that parse the result with postal-mime, an
// independent implementation.
import fc from 'fast-check';
import PostalMime from 'postal-mime';
import { describe, expect, it } from 'vitest';
import { type NamedMailbox, parseMailbox } from '../address.ts';
import {
  formatMailboxHeader,
  formatTextHeader,
  headerTextError,
  headerValueError,
  isHeaderName,
  isReservedHeader,
} from './header.ts';

function mailbox(email: string, name?: string): NamedMailbox {
  const parsed = parseMailbox(email);
  if (!parsed.ok) throw new Error(parsed.detail);
  return name === undefined ? parsed.mailbox : { ...parsed.mailbox, name };
}

// Injection attempts next to ordinary and exotic text.
const hostileText = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: fc.string({ unit: 'grapheme', maxLength: 30 }) },
      { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 5 }) },
      {
        weight: 2,
        arbitrary: fc.constantFrom('\r\n', '\r', '\n', '\0', '\r\n\r\n', 'Bcc: x@example.com'),
      },
      {
        weight: 2,
        arbitrary: fc.constantFrom(
          '=?utf-8?q?=0D=0ABcc:_x?=',
          '?=',
          '=?',
          '"',
          '\\',
          '<a@b.c>',
          ',',
        ),
      },
      {
        weight: 2,
        arbitrary: fc.constantFrom(
          ' ',
          '  ',
          '\t',
          '\u00a0',
          '\u2028',
          '\ufeff',
          'ü',
          '日本語',
          '👩‍👩‍👧',
        ),
      },
      {
        weight: 1,
        arbitrary: fc.constantFrom(
          'x'.repeat(80),
          'x'.repeat(1100),
          ' '.repeat(1000),
          'é'.repeat(90),
        ),
      },
    ),
    { maxLength: 12 },
  )
  .map((pieces) => pieces.join(''));

const fitText = hostileText.map((text) => text.replace(/[\r\n\0]/g, ' '));

// Parsers take a U+FEFF at the start of an encoded word for a byte order mark.
function shown(text = ''): string {
  return text.replaceAll('\ufeff', '').trim();
}

function spaced(name: string): string {
  return shown(name).replace(/\s+/g, ' ');
}

function expectSoundLines(header: string): void {
  expect(header.endsWith('\r\n')).toBe(true);
  const lines = header.slice(0, -2).split('\r\n');
  for (const [index, line] of lines.entries()) {
    expect(line).not.toMatch(/[\r\n\0]/);
    expect(Buffer.byteLength(line)).toBeLessThanOrEqual(998);
    if (index > 0) expect(line).toMatch(/^[ \t]+[^ \t]/);
    for (const word of line.match(/=\?utf-8\?.*?\?=/g) ?? [])
      expect(word.length).toBeLessThanOrEqual(75);
    if (line.includes('=?utf-8?')) expect(line.length).toBeLessThanOrEqual(78);
  }
}

describe('a text header', () => {
  it('keeps short ASCII unchanged', () => {
    expect(formatTextHeader('Subject', 'Your receipt (no. 5)')).toBe(
      'Subject: Your receipt (no. 5)\r\n',
    );
    expect(formatTextHeader('Subject', '')).toBe('Subject:\r\n');
  });

  it('folds long ASCII between words, and keeps a word that cannot be folded', () => {
    const ids = Array.from({ length: 6 }, (_, i) => `<message-${i}@mail.example.com>`);
    const header = formatTextHeader('References', ids.join(' '));
    expect(header.split('\r\n').every((line) => line.length <= 78)).toBe(true);
    expect(header.replaceAll('\r\n', '')).toBe(`References: ${ids.join(' ')}`);

    const url = `<https://example.com/unsubscribe/${'a'.repeat(300)}>`;
    expect(formatTextHeader('List-Unsubscribe', url)).toBe(`List-Unsubscribe: ${url}\r\n`);
  });

  it('never encodes what software reads: the value is rejected or kept', () => {
    const url = (chars: number) => `<https://example.com/${'a'.repeat(chars - 22)}>`;
    const name = 'List-Unsubscribe';
    expect(headerValueError(name, url(980))).toBeUndefined();
    expect(formatTextHeader(name, url(980))).toBe(`${name}: ${url(980)}\r\n`);
    expect(headerValueError(name, url(981))).toContain('980');
    expect(headerValueError(name, `${url(900)}, ${url(900)}`)).toBeUndefined();
    expect(headerValueError(name, '<https://example.com/ä>')).toContain('ASCII');
    const odd = '<https://example.com/?a=?utf-8?q?=41?=>';
    expect(headerValueError(name, odd)).toBeUndefined();
    expect(formatTextHeader(name, odd)).toBe(`${name}: ${odd}\r\n`);
    expect(headerValueError('X-Note', `ä${url(1_500)}`)).toBeUndefined();
  });

  it('encodes non-ASCII text in the encoding that suits the script', () => {
    expect(formatTextHeader('Subject', 'Grüße aus Köln')).toBe(
      'Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe_aus_K=C3=B6ln?=\r\n',
    );
    expect(formatTextHeader('Subject', 'ようこそ')).toBe(
      'Subject: =?utf-8?b?44KI44GG44GT44Gd?=\r\n',
    );
  });

  it('splits no character between two encoded words', () => {
    for (const text of ['é'.repeat(200), '日本語👩‍👩‍👧'.repeat(30), `abc ${'ü abc '.repeat(50)}`]) {
      const words = formatTextHeader('Subject', text).matchAll(/=\?utf-8\?([qb])\?(.*?)\?=/g);
      const decoded = [...words].map(([, encoding, content = '']) =>
        encoding === 'b'
          ? Buffer.from(content, 'base64').toString()
          : decodeURIComponent(content.replaceAll('_', ' ').replaceAll('=', '%')),
      );
      expect(decoded.length).toBeGreaterThan(1);
      expect(decoded.join('')).toBe(text.trim());
    }
  });

  it('pads no base64 word but the last, which some clients take for the end of the text', () => {
    const scripts = fc.constantFrom('a', ' ', 'é', 'я', 'ה', '日', '本', '👩', '🎉');
    const text = fc.array(scripts, { minLength: 1, maxLength: 120 }).map((all) => all.join(''));
    fc.assert(
      fc.property(text, fc.constantFrom('Subject', `X-${'n'.repeat(45)}`), (value, name) => {
        const header = formatTextHeader(name, value);
        expectSoundLines(header);
        const words = [...header.matchAll(/=\?utf-8\?b\?(.*?)\?=/g)];
        for (const [, content] of words.slice(0, -1)) expect(content).not.toContain('=');
      }),
    );
    // Few words are enough where characters do not add up to multiples of three octets.
    expect(formatTextHeader('Subject', `aa${'日'.repeat(40)}`).split('\r\n ')).toHaveLength(4);
  });

  it('encodes text that looks like an encoded word', () => {
    expect(formatTextHeader('Subject', '=?utf-8?q?x?=')).not.toContain('=?utf-8?q?x?=');
  });

  it('starts on a new line after a long name', () => {
    expect(formatTextHeader(`X-${'n'.repeat(74)}`, 'für')).toMatch(
      /^X-n+:\r\n =\?utf-8\?q\?f=C3=BCr\?=\r\n$/,
    );
  });

  it('rejects line breaks and NUL', () => {
    for (const text of ['a\r\nBcc: x@example.com', 'a\rb', 'a\nb', 'a\0b']) {
      expect(headerTextError(text)).toBeTypeOf('string');
      expect(() => formatTextHeader('Subject', text)).toThrow();
      expect(() => formatMailboxHeader('From', [mailbox('a@example.com', text)])).toThrow();
    }
    expect(headerTextError('Grüße\t!')).toBeUndefined();
  });

  it('is parsed back unchanged', async () => {
    await fc.assert(
      fc.asyncProperty(fitText, async (text) => {
        const header = formatTextHeader('Subject', text);
        expectSoundLines(header);
        const email = await PostalMime.parse(`${header}X-End: 1\r\n\r\nbody`);
        expect(email.headers.map((line) => line.key)).toEqual(['subject', 'x-end']);
        expect(shown(email.subject)).toBe(shown(text.toWellFormed()));
      }),
      { numRuns: 600 },
    );
  });
});

describe('a mailbox header', () => {
  it('writes names as atoms, quoted, or encoded', () => {
    const header = formatMailboxHeader('To', [
      mailbox('a@example.com', 'Jane Doe'),
      mailbox('b@example.com', 'Doe, "J." \\ Jane'),
      mailbox('c@example.com', 'Jörg'),
      mailbox('d@example.com'),
      mailbox('e@example.com', ' '),
    ]);
    expect(header).toBe(
      'To: Jane Doe <a@example.com>, "Doe, \\"J.\\" \\\\ Jane" <b@example.com>,\r\n' +
        ' =?utf-8?q?J=C3=B6rg?= <c@example.com>, d@example.com, e@example.com\r\n',
    );
  });

  it('writes a UTF-8 local part raw and a domain as A-labels', () => {
    expect(formatMailboxHeader('To', [mailbox('jörg@münchen.de', 'Jörg')])).toBe(
      'To: =?utf-8?q?J=C3=B6rg?= <jörg@xn--mnchen-3ya.de>\r\n',
    );
  });

  it('is parsed back unchanged, with no address added', async () => {
    const emails = fc.constantFrom(
      'a@example.com',
      "o'neil+x@mail.example.org",
      '"jane doe"@example.com',
      'jörg@example.com',
      `${'x'.repeat(64)}@${'abcdefgh.'.repeat(20)}com`,
    );
    const list = fc.array(fc.tuple(emails, fc.option(fitText, { nil: undefined })), {
      minLength: 1,
      maxLength: 6,
    });
    await fc.assert(
      fc.asyncProperty(list, async (entries) => {
        const header = formatMailboxHeader(
          'To',
          entries.map(([email, name]) => mailbox(email, name)),
        );
        expectSoundLines(header);
        const email = await PostalMime.parse(Buffer.from(`${header}X-End: 1\r\n\r\nbody`));
        expect(email.headers.map((line) => line.key)).toEqual(['to', 'x-end']);
        expect(email.to?.map((entry) => [entry.address, spaced(entry.name)])).toEqual(
          entries.map(([address, name]) => [address, spaced((name ?? '').toWellFormed())]),
        );
      }),
      { numRuns: 600 },
    );
  });
});

describe('header names', () => {
  it.each([
    'List-Unsubscribe',
    'X-Campaign',
    'References',
    'In-Reply-To',
    'Feedback-ID',
    'Importance',
  ])('%s may be set by the caller', (name) => {
    expect(isHeaderName(name)).toBe(true);
    expect(isReservedHeader(name)).toBe(false);
  });

  it.each([
    'From',
    'TO',
    'bcc',
    'DKIM-Signature',
    'ARC-Seal',
    'Received',
    'Received-SPF',
    'Content-Type',
  ])('%s is reserved', (name) => expect(isReservedHeader(name)).toBe(true));

  it.each([
    'Resent-From',
    'MIME-Version',
    'Return-Path',
    'Date',
    'message-id',
    'X-Postrider-Id',
    'Sender',
  ])('%s is reserved too', (name) => expect(isReservedHeader(name)).toBe(true));

  it.each(['', 'X Y', 'X:', 'X-Ü', 'X\r\nBcc', 'X\0', 'x'.repeat(77)])(
    '%j is not a header name',
    (name) => {
      expect(isHeaderName(name)).toBe(false);
    },
  );
});
