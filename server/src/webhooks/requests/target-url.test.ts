import { describe, expect, test } from 'vitest';
import { parseTarget, type TargetRules } from './target-url.ts';

const strict: TargetRules = {
  allowPrivate: false,
  portAllowed: (port) => port === 80 || port === 443 || port >= 1024,
};
const open: TargetRules = { ...strict, allowPrivate: true };

function codeOf(url: string, mode: 'live' | 'test' = 'live', rules = strict): string {
  const parsed = parseTarget(url, mode, rules);
  return parsed.ok ? 'ok' : parsed.code;
}

test.each([
  'https://example.com/hooks',
  'https://example.com',
  'https://example.com:8443/hooks?token=a%20b',
  'https://EXAMPLE.com/Hooks',
  'https://müller.example/hook',
  'https://93.184.216.34/hook',
  'https://[2606:2800:220:1:248:1893:25c8:1946]/hook',
])('%s is accepted', (url) => {
  expect(codeOf(url)).toBe('ok');
});

describe('ambiguous spellings are rejected', () => {
  test.each([
    ['octal', 'https://0177.0.0.1/'],
    ['octal of a public address', 'https://0135.0270.0330.042/'],
    ['hexadecimal', 'https://0x7f.0.0.1/'],
    ['hexadecimal in one', 'https://0x7f000001/'],
    ['decimal in one', 'https://2130706433/'],
    ['short form', 'https://127.1/'],
    ['leading zeros', 'https://127.000.000.001/'],
    ['overflow', 'https://256.256.256.256/'],
    ['trailing dot of a name', 'https://example.com./'],
    ['trailing dot of an address', 'https://127.0.0.1./'],
    ['escaped address', 'https://%31%32%37.0.0.1/'],
    ['escaped name', 'https://ex%61mple.com/'],
    ['ideographic dots', 'https://127。0。0。1/'],
    ['full-width dots', 'https://127．0．0．1/'],
    ['half-width dots', 'https://127｡0｡0｡1/'],
    ['full-width digits', 'https://１２７.0.0.1/'],
    ['circled digits', 'https://①②⑦.0.0.1/'],
    ['a backslash', 'https://example.com\\@127.0.0.1/'],
    ['a tab', 'https://exa\tmple.com/'],
    ['a newline', 'https://example.com/\r\nHost: x'],
    ['a space', 'https://example.com/a b'],
    ['a zero-width space', 'https://exa\u200bmple.com/'],
    ['a soft hyphen', 'https://exa\u00admple.com/'],
    ['no host', 'https:///path'],
    ['no slashes', 'https:example.com'],
    ['an IPv6 zone', 'https://[fe80::1%25eth0]/'],
    ['IPv6 without brackets', 'https://::1/'],
    ['too long', `https://example.com/${'x'.repeat(2048)}`],
    ['another scheme', 'ftp://example.com/'],
    ['a file', 'file:///etc/passwd'],
    ['gopher', 'gopher://example.com/'],
    ['data', 'data:text/plain,hello'],
    ['javascript', 'javascript:alert(1)'],
    ['nothing', ''],
  ])('%s', (_, url) => {
    expect(codeOf(url, 'test')).toBe('invalid_url');
  });

  test.each([
    'https://user@example.com/',
    'https://user:pass@example.com/',
    'https://@example.com/',
  ])('user information: %s', (url) => {
    expect(codeOf(url)).toBe('credentials_in_url');
  });
});

test('a name without a dot is in a private network', () => {
  expect(codeOf('https://localhost/')).toBe('private_target');
  expect(codeOf('https://intranet:8443/')).toBe('private_target');
  expect(codeOf('http://localhost:3000/hook', 'live', open)).toBe('ok');
  const own = parseTarget('http://localhost:3000/hook', 'test', strict);
  expect(own).toMatchObject({ detail: expect.stringContaining('WEBHOOK_ALLOW_PRIVATE=true') });
});

test('live mode requires https, unless the operator allows http', () => {
  expect(codeOf('http://example.com/')).toBe('https_required');
  expect(codeOf('http://example.com/', 'test')).toBe('ok');
  expect(codeOf('http://example.com/', 'live', open)).toBe('ok');
});

test('only ports that the operator allows', () => {
  expect(codeOf('https://example.com:25/')).toBe('port_not_allowed');
  expect(codeOf('http://example.com:22/', 'test')).toBe('port_not_allowed');
  expect(codeOf('https://example.com:443/')).toBe('ok');
});

test('the fragment is dropped and the rest kept', () => {
  const parsed = parseTarget('https://Example.com/a?b=c#d', 'live', strict);
  expect(parsed.ok && parsed.url.href).toBe('https://example.com/a?b=c');
});
