import { expect, test } from 'vitest';
import { isVerifiable, readDkimKeyNames, withFewSignatures } from './dkim-signatures.ts';

const signature = (n: number) =>
  `DKIM-Signature: v=1; a=rsa-sha256;\r\n\td=Example${n}.net; s=s1; h=from;\r\n b=abc\r\n`;
const mail = (header: string) =>
  Buffer.from(`${header}From: a@b.example\r\n\r\nDKIM-Signature: d=no; s=no\r\n`);

test('the names of the keys come from folded fields in the header', () => {
  expect(readDkimKeyNames(mail(signature(1) + signature(2)))).toEqual([
    { domain: 'Example1.net', selector: 's1' },
    { domain: 'Example2.net', selector: 's1' },
  ]);
  expect(readDkimKeyNames(mail('DKIM-Signature: v=1; d=x.example\r\n'))).toEqual([]);
});

test('signatures beyond the fifth are not verified, and everything else stays', () => {
  const five = Array.from({ length: 5 }, (_, n) => signature(n)).join('');
  const between = 'X-Other: é\r\n';
  const given = mail(`${five}${signature(5)}${between}${signature(6)}`);
  expect(withFewSignatures(given).equals(mail(five + between))).toBe(true);
  expect(withFewSignatures(mail(five)).equals(mail(five))).toBe(true);
  expect(readDkimKeyNames(given)).toHaveLength(5);
});

test('signatures that cost too much are not verified, and those of ARC neither', () => {
  const arc = 'ARC-Seal: i=1; a=rsa-sha256;\r\n d=a.example; s=s1\r\n';
  const long = signature(1).replace('h=from', `h=${'from:'.repeat(1_000)}`);
  const spaced = signature(2).replace('h=from', `h=${' '.repeat(100)}from`);
  const given = mail(arc + long + spaced + signature(3));
  expect(withFewSignatures(given).equals(mail(signature(3)))).toBe(true);
  expect(readDkimKeyNames(given)).toEqual([{ domain: 'Example3.net', selector: 's1' }]);
});

test.each([
  ['a line of only CR, which ends the header to some', 'Subject: x\r\n\r\r\n'],
  ['a CR without LF', 'Subject: x\rFrom: c@d.example\r\n'],
  ['a name on a line of its own', 'DKIM-Signature\r\n : d=x.example\r\n'],
  ['a line that is not a field', 'x\r\n'],
  ['too many lines', `X:\r\n${' x\r\n'.repeat(1_000)}`],
])('a header with %s is not verifiable', (_, fields) => {
  expect(isVerifiable(mail(`X-Usual: a\r\n\tb\r\nX-Spaced : é\r\n${signature(1)}`))).toBe(true);
  expect(isVerifiable(mail(fields))).toBe(false);
  expect(isVerifiable(Buffer.from(fields))).toBe(false);
});

test('a line of more than a megabyte is not verifiable, wherever it is', () => {
  const line = (bytes: number) => Buffer.concat([Buffer.alloc(bytes, 'x'), Buffer.from('\n')]);
  const body = (...lines: Buffer[]) => isVerifiable(Buffer.concat([mail(''), ...lines]));
  const long = 1024 * 1024 + 1;
  expect(body(line(900_000), line(900_000), line(900_000))).toBe(true);
  expect(body(line(10), line(long), line(10))).toBe(false);
  expect(body(Buffer.alloc(long + 10, 'x'))).toBe(false);
  expect(isVerifiable(Buffer.alloc(0))).toBe(true);
});
