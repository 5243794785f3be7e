import { describe, expect, test } from 'vitest';
import { looksLikeIp, normalizeDnsName, reverseName } from './dns-name.ts';

describe('normalName', () => {
  test.each([
    ['example.com', 'example.com'],
    ['EXAMPLE.Com.', 'example.com'],
    ['_25._tcp.mx.example.com', '_25._tcp.mx.example.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['localhost', 'localhost'],
  ])('%s is normalized to %s', (text, name) => expect(normalizeDnsName(text)).toBe(name));

  test.each([
    '',
    '.',
    'a..b',
    '.example.com',
    'a b.example',
    'evil\r\nQUIT.example',
    'a\\046b.example',
    'ex%41mple.com',
    'ü%2e.example',
    `${'a'.repeat(64)}.example`,
    `${'abcdefg.'.repeat(32)}example`,
  ])('%j is not a valid DNS name', (text) => expect(normalizeDnsName(text)).toBeUndefined());
});

test('an IP address in place of a host name is recognized', () => {
  expect(looksLikeIp('192.0.2.1')).toBe(true);
  expect(looksLikeIp('2001:db8::1')).toBe(true);
  expect(looksLikeIp('mx1.example.com')).toBe(false);
});

test.each([
  ['192.0.2.25', '25.2.0.192.in-addr.arpa'],
  ['2001:db8::25', '5.2.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa'],
])('%s has the PTR name %s', (ip, name) => {
  expect(reverseName(ip)).toBe(name);
});
