import { expect, test } from 'vitest';
import { passwordWeakness } from './password-rules.ts';

const OWN = ['jane.doe@shop.example', 'Jane Doe'];

test.each([
  'password123',
  'Password2026!',
  'P@ssw0rd1234',
  'qwertyuiop',
  'QwertyQwerty1',
  '1234567890',
  '0987654321',
  'aaaaaaaaaaaa',
  'abcabcabcabc',
  'letmein12345',
  'iloveyou2024',
  'welcome1welcome1',
  '1q2w3e4r5t6y',
  'zaq12wsxcde3',
  'changeme!!!!',
  'postrider2026',
  'administrator1',
  'jane.doe2026',
  'JaneDoe12345',
  'doe-jane-doe',
  'superman1987',
])('rejects %s as easy to guess', (password) => {
  expect(passwordWeakness(password, OWN)).toMatch(/easy to guess/);
});

test.each(['short', 'ninechars', '😀😀😀😀😀😀😀😀😀'])(
  '%s is too short, counting user-perceived characters',
  (password) => {
    expect(passwordWeakness(password, OWN)).toMatch(/at least 10/);
  },
);

test.each([
  'correct horse battery staple',
  'tulip-freight-oboe',
  'kettle rain 7 ladders',
  'all lower case words are fine',
  'mein Fahrrad ist blau',
  'Zx9#kq-Lw2vT',
  'gymnasium-parrot',
  '58 30 19 47 26',
  '1938x5820174',
  'пароль не пароль а фраза',
])('accepts %s', (password) => {
  expect(passwordWeakness(password, OWN)).toBeUndefined();
});

test('rejects a password of 257 characters, quickly', () => {
  expect(passwordWeakness('x'.repeat(257), OWN)).toMatch(/at most 256/);
  expect(passwordWeakness('ab'.repeat(100_000), OWN)).toMatch(/at most 256/);
});
