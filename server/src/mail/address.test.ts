// Goal: an accepted mailbox has one spelling and cannot break an SMTP command or a header;
// everything else is rejected with a reason that a person can act on. Method: tables of valid and
// invalid addresses, and properties over arbitrary text.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseMailbox } from './address.ts';

function mailboxOf(text: string) {
  const parsed = parseMailbox(text);
  if (!parsed.ok) throw new Error(`${JSON.stringify(text)} was rejected: ${parsed.detail}`);
  return parsed.mailbox;
}

describe('a mailbox', () => {
  it('is split, and keeps the case of its local part', () => {
    expect(mailboxOf('Jane.Doe+news@Example.COM')).toEqual({
      local: 'Jane.Doe+news',
      domain: 'example.com',
      email: 'Jane.Doe+news@example.com',
      key: 'jane.doe+news@example.com',
      utf8: false,
    });
  });

  it.each([
    ["o'neil@example.com", "o'neil@example.com"],
    ["!#$%&'*+-/=?^_`{|}~@example.com", "!#$%&'*+-/=?^_`{|}~@example.com"],
    ['a@b.co', 'a@b.co'],
    [`${'x'.repeat(64)}@example.com`, `${'x'.repeat(64)}@example.com`],
    ['"jane doe"@example.com', '"jane doe"@example.com'],
    ['"jane"@example.com', 'jane@example.com'],
    ['"j\\ane"@example.com', 'jane@example.com'],
    ['"a@b"@example.com', '"a@b"@example.com'],
    ['"a\\"b\\\\c"@example.com', '"a\\"b\\\\c"@example.com'],
    ['"a..b"@example.com', '"a..b"@example.com'],
    ['".a"@example.com', '".a"@example.com'],
    ['"<script>"@example.com', '"<script>"@example.com'],
    ['""@example.com', '""@example.com'],
    ['jane@münchen.de', 'jane@xn--mnchen-3ya.de'],
  ])('%s is %s', (text, email) => {
    expect(mailboxOf(text)).toMatchObject({ email, utf8: false });
  });

  it('allows UTF-8 before the @, normalizes and flags it', () => {
    expect(mailboxOf('jo\u0308rg@example.com')).toMatchObject({
      email: 'jörg@example.com',
      utf8: true,
    });
    expect(mailboxOf('JÖRG@example.com').key).toBe('jörg@example.com');
    expect(mailboxOf('用户@例え.テスト').email).toBe('用户@xn--r8jz45g.xn--zckzah');
    expect(mailboxOf('\u212a@example.com')).toMatchObject({ email: 'K@example.com', utf8: false });
  });

  it.each([
    ['', /empty/],
    ['jane', /no @/],
    ['@example.com', /nothing before/],
    ['jane@', /domain is missing/],
    ['jane@localhost', /no dot/],
    ['jane@example.com.', /ends with a dot/],
    ['jane@[192.0.2.1]', /literal/],
    ['jane@192.0.2.1', /number/],
    ['jane@example@example.com', /more than one @/],
    ['.jane@example.com', /begins with a dot/],
    ['jane.@example.com', /ends with a dot/],
    ['ja..ne@example.com', /two dots/],
    [' jane@example.com', /spaces around/],
    ['jane@example.com ', /space/],
    ['jane @example.com', /contains a space/],
    ['jane(comment)@example.com', /must be quoted/],
    ['Jane <jane@example.com>', /only the address/],
    ['<jane@example.com>', /only the address/],
    ['jane@example.com>', /only letters/],
    ['jane,joe@example.com', /must be quoted/],
    ['jane@exam\r\nple.com', /control/],
    ['ja\r\nne@example.com', /control/],
    ['ja\0ne@example.com', /control/],
    ['"ja\r\nne"@example.com', /control/],
    ['"ja\\\nne"@example.com', /backslash/],
    ['"jane"x@example.com', /followed by the @/],
    ['"jane@example.com', /no closing quote/],
    ['jane\u0080@example.com', /invisible/],
    ['jane\u00a0@example.com', /invisible/],
    ['ja\u202ene@example.com', /invisible/],
    ['ja\u2028ne@example.com', /invisible/],
    ['ja\ud800ne@example.com', /well-formed/],
    ['a\u037eb@example.com', /must be quoted/],
    [`${'x'.repeat(65)}@example.com`, /64 octets/],
    [`${'ü'.repeat(33)}@example.com`, /64 octets/],
    [`${'x'.repeat(64)}@${'abcdefgh.'.repeat(21)}com`, /254 octets/],
    ['x'.repeat(5000), /254 octets/],
  ])('%j is rejected', (text, detail) => {
    const parsed = parseMailbox(text);
    expect(parsed.ok).toBe(false);
    expect(parsed.ok ? '' : parsed.detail).toMatch(detail);
  });

  it('is canonical and contains nothing that ends a line or a command', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        '"',
        '\\',
        '@',
        '.',
        ' ',
        '<',
        '>',
        '\r',
        '\n',
        '\0',
        'ü',
        'a\u0308',
        '\u037e',
      ),
      fc.string({ unit: 'grapheme', maxLength: 4 }),
      fc.string({ unit: 'binary', maxLength: 2 }),
    );
    const local = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(local, fc.boolean(), (text, quoted) => {
        const parsed = parseMailbox(quoted ? `"${text}"@example.com` : `${text}@example.com`);
        if (!parsed.ok) return;
        const { email } = parsed.mailbox;
        // biome-ignore lint/suspicious/noControlCharactersInRegex: controls are the point
        expect(email).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/);
        expect(parseMailbox(email)).toEqual(parsed);
      }),
      { numRuns: 5000 },
    );
  });
});
