import { expect, test } from 'vitest';
import { hashToken, isToken, newToken, tokenHint } from './api-key-token.ts';

test('a new token names its mode and has a valid checksum', () => {
  for (const mode of ['live', 'test'] as const) {
    const token = newToken(mode);
    expect(token).toMatch(new RegExp(`^pr_${mode}_[0-9A-Za-z]{38}$`));
    expect(isToken(token)).toBe(true);
  }
  expect(newToken('live')).not.toBe(newToken('live'));
});

test('finds typos and missing characters without a lookup', () => {
  const token = newToken('live');
  const typo = token.slice(0, 12) + (token[12] === 'a' ? 'b' : 'a') + token.slice(13);
  expect(isToken(typo)).toBe(false);
  expect(isToken(token.slice(0, -1))).toBe(false);
  expect(isToken(`${token} `)).toBe(false);
  expect(isToken(token.replace('pr_live_', 'pr_test_'))).toBe(false);
});

test('shows the prefix and the last four characters only', () => {
  const token = newToken('test');
  expect(tokenHint(token)).toBe(`pr_test_…${token.slice(-4)}`);
  expect(hashToken(token)).toHaveLength(32);
});
