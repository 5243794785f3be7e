import { expect, test } from 'vitest';
import { Passwords } from './passwords.ts';

const passwords = new Passwords();

test('verifies the right password only, and equal passwords have different hashes', async () => {
  const [one, two] = [await passwords.hash('tulip-freight'), await passwords.hash('tulip-freight')];
  expect(one).toMatch(/^\$scrypt\$ln=15,r=8,p=3\$/);
  expect(one).not.toBe(two);
  expect(await passwords.verify(one, 'tulip-freight')).toBe(true);
  expect(await passwords.verify(one, 'tulip-freighT')).toBe(false);
  expect(await passwords.verify(undefined, 'tulip-freight')).toBe(false);
});

test('accepts the same characters in another Unicode normalization', async () => {
  const hash = await passwords.hash('caf\u00e9 au lait fort');
  expect(await passwords.verify(hash, 'cafe\u0301 au lait fort')).toBe(true);
});

test('verifies hashes with older parameters', async () => {
  // scrypt, N = 2^4, r = 1, p = 1 over "password" and the salt "salt".
  const { scryptSync } = await import('node:crypto');
  const key = scryptSync('password', 'salt', 32, { N: 16, r: 1, p: 1 });
  const hash = `$scrypt$ln=4,r=1,p=1$${Buffer.from('salt').toString('base64').replaceAll('=', '')}$${key.toString('base64').replaceAll('=', '')}`;
  expect(await passwords.verify(hash, 'password')).toBe(true);
  expect(await passwords.verify(hash, 'passwort')).toBe(false);
});

test('rejects at once when the queue is full, and an unknown address waits like a known one', async () => {
  const passwords = new Passwords({ ln: 4, r: 1, p: 1 });
  const hash = await passwords.hash('tulip-freight');
  const tries = Array.from({ length: 110 }, (_, n) =>
    passwords.verify(n % 2 ? hash : undefined, 'x'),
  );
  const ended = await Promise.allSettled(tries);
  expect(ended.filter((one) => one.status === 'rejected')).toHaveLength(8);
  expect(ended.filter((one) => one.status === 'fulfilled')).toHaveLength(102);
  expect(await passwords.verify(hash, 'tulip-freight')).toBe(true);
});
