import { expect, test } from 'vitest';
import { base32, codeAt, newRecoveryCodes, recoveryCodeOf, stepOfCode, totpUri } from './totp.ts';

/**
 * The secret of RFC 6238 appendix B. Its SHA-1 codes there have eight digits; ours are the last
 * six.
 */
const SECRET = Buffer.from('12345678901234567890');

test.each([
  [59, '287082'],
  [1111111109, '081804'],
  [1111111111, '050471'],
  [1234567890, '005924'],
  [2000000000, '279037'],
  [20000000000, '353130'],
])('the code at second %i is that of RFC 6238', (second, code) => {
  expect(codeAt(SECRET, second * 1000)).toBe(code);
});

test('a code works half a minute early or late, but no longer', () => {
  const code = codeAt(SECRET, 600_000);
  expect(stepOfCode(SECRET, code, 570_000, null)).toBe(20);
  expect(stepOfCode(SECRET, code, 600_000, null)).toBe(20);
  expect(stepOfCode(SECRET, code, 659_999, null)).toBe(20);
  expect(stepOfCode(SECRET, code, 660_000, null)).toBeUndefined();
  expect(stepOfCode(SECRET, code, 569_999, null)).toBeUndefined();
});

test('a used code and all earlier ones are rejected', () => {
  const code = codeAt(SECRET, 600_000);
  expect(stepOfCode(SECRET, code, 600_000, 20)).toBeUndefined();
  expect(stepOfCode(SECRET, codeAt(SECRET, 570_000), 600_000, 20)).toBeUndefined();
  expect(stepOfCode(SECRET, codeAt(SECRET, 630_000), 630_000, 20)).toBe(21);
});

test('base32 is that of RFC 4648', () => {
  const vectors = ['', 'f', 'fo', 'foo', 'foob', 'fooba', 'foobar'];
  expect(vectors.map((text) => base32(Buffer.from(text)))).toEqual([
    '',
    'MY',
    'MZXQ',
    'MZXW6',
    'MZXW6YQ',
    'MZXW6YTB',
    'MZXW6YTBOI',
  ]);
});

test('the key URI contains issuer and account', () => {
  expect(totpUri(SECRET, 'jane+x@example.com', 'Postrider')).toBe(
    'otpauth://totp/Postrider:jane%2Bx%40example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Postrider',
  );
});

test('recovery codes differ, and are accepted however they are typed', () => {
  const codes = newRecoveryCodes();
  expect(new Set(codes).size).toBe(10);
  for (const code of codes) {
    expect(code).toMatch(/^[a-z2-9]{4}(-[a-z2-9]{4}){3}$/);
    expect(recoveryCodeOf(` ${code.toUpperCase().replaceAll('-', ' ')} `)).toBe(code);
  }
  expect(recoveryCodeOf('123456')).toBeUndefined();
});
