// Goal: only names are accepted that are safe in a DNS query, an SMTP command and a header. Method:
// tables of valid and invalid names, and properties over arbitrary text.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseDomainName } from './domain-name.ts';

describe('a domain name', () => {
  it.each([
    ['example.com', 'example.com'],
    ['Example.COM', 'example.com'],
    ['a-b.c--d.co.uk', 'a-b.c--d.co.uk'],
    ['3com.com', '3com.com'],
    ['123.de', '123.de'],
    ['münchen.de', 'xn--mnchen-3ya.de'],
    ['MÜNCHEN.de', 'xn--mnchen-3ya.de'],
    ['xn--mnchen-3ya.de', 'xn--mnchen-3ya.de'],
    ['XN--MNCHEN-3YA.de', 'xn--mnchen-3ya.de'],
    ['faß.de', 'xn--fa-hia.de'],
    ['日本。jp', 'xn--wgv71a.jp'],
    ['例え.テスト', 'xn--r8jz45g.xn--zckzah'],
    [`${'a'.repeat(63)}.com`, `${'a'.repeat(63)}.com`],
  ])('%s becomes %s', (text, domain) => {
    expect(parseDomainName(text)).toEqual({ ok: true, domain });
  });

  it.each([
    ['', /missing/],
    ['localhost', /no dot/],
    ['example.com.', /ends with a dot/],
    ['.example.com', /begins with a dot/],
    ['example..com', /two dots/],
    ['-a.example.com', /hyphen/],
    ['a-.example.com', /hyphen/],
    ['-ü.de', /xn--/],
    ['exa mple.com', /space/],
    ['example.com\r\n', /control/],
    ['example.com\0', /control/],
    ['ü.de\u00a0', /space/],
    ['exa_mple.com', /only letters/],
    ['a%41ü.de', /only letters/],
    ['[192.0.2.1]', /literal/],
    ['192.0.2.1', /number/],
    ['example.0x7f', /number/],
    ['ü.1', /valid internationalized/],
    [`${'a'.repeat(64)}.com`, /63 octets/],
    [`${'ü'.repeat(60)}.de`, /63 octets|internationalized/],
    [`${'abcdefgh.'.repeat(29)}com`, /253 octets/],
    ['xn--a.de', /does not decode/],
    ['xn--wca.de', /does not decode/],
    ['xn--tda510n.de', /does not decode/],
    ['xn--.de', /does not decode|hyphen/],
    ['xn--ascii-.de', /hyphen|does not decode/],
    ['exam\u00adplé.com', /invisible/],
    ['\u200bü.de', /invisible/],
    ['\ud800.de', /well-formed/],
  ])('%j is rejected', (text, detail) => {
    const parsed = parseDomainName(text);
    expect(parsed.ok).toBe(false);
    expect(parsed.ok ? '' : parsed.detail).toMatch(detail);
  });

  it('is canonical: parsing the result again returns the same', () => {
    const nearDomain = fc.array(
      fc.oneof(fc.constantFrom('.', '-', 'xn--', 'ü', 'ß', '日'), fc.string({ unit: 'grapheme' })),
      { maxLength: 12 },
    );
    fc.assert(
      fc.property(nearDomain, (parts) => {
        const parsed = parseDomainName(`${parts.join('')}.com`);
        if (!parsed.ok) return;
        expect(parsed.domain).toMatch(
          /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/,
        );
        expect(parseDomainName(parsed.domain)).toEqual(parsed);
      }),
      { numRuns: 2000 },
    );
  });
});
