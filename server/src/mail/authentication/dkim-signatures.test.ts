import { expect, test } from 'vitest';
import { hasVerifiableLines, readDkimKeyNames, withFewSignatures } from './dkim-signatures.ts';

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

test('a line of more than a megabyte is not verifiable, wherever it is', () => {
  const line = (bytes: number) => Buffer.concat([Buffer.alloc(bytes, 'x'), Buffer.from('\n')]);
  const long = 1024 * 1024 + 1;
  expect(hasVerifiableLines(Buffer.concat([line(900_000), line(900_000), line(900_000)]))).toBe(
    true,
  );
  expect(hasVerifiableLines(Buffer.concat([line(10), line(long), line(10)]))).toBe(false);
  expect(hasVerifiableLines(Buffer.alloc(long + 10, 'x'))).toBe(false);
  expect(hasVerifiableLines(Buffer.alloc(0))).toBe(true);
});
