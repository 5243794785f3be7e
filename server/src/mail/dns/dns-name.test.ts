import { describe, expect, test } from 'vitest';
import { looksLikeIp, normalizeDnsName } from './dns-name.ts';

describe('normalName', () => {
  test.each([
    ['example.com', 'example.com'],
    ['EXAMPLE.Com.', 'example.com'],
    ['_25._tcp.mx.example.com', '_25._tcp.mx.example.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['localhost', 'localhost'],
  ])('%s is asked for as %s', (text, name) => expect(normalizeDnsName(text)).toBe(name));

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
  ])('%j is no name that DNS can carry', (text) => expect(normalizeDnsName(text)).toBeUndefined());
});

test('an address where a host belongs is recognised', () => {
  expect(looksLikeIp('192.0.2.1')).toBe(true);
  expect(looksLikeIp('2001:db8::1')).toBe(true);
  expect(looksLikeIp('mx1.example.com')).toBe(false);
});
