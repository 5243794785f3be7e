import { expect, test } from 'vitest';
import type { RefusedError } from '../lib/refused-error.ts';
import {
  hasOperatorPrefix,
  isOperatorToken,
  isToken,
  newOperatorToken,
  newToken,
  tokenHint,
} from './api-key-token.ts';
import { checkUsable } from './operator-keys.ts';

test('an operator key is not an API key, and the reverse', () => {
  const operator = newOperatorToken();
  expect(isOperatorToken(operator)).toBe(true);
  expect(isToken(operator)).toBe(false);
  expect(hasOperatorPrefix(operator)).toBe(true);
  expect(isOperatorToken(newToken('live'))).toBe(false);
  expect(hasOperatorPrefix(newToken('live'))).toBe(false);
});

test('a typo in an operator key is detected without the database', () => {
  const token = newOperatorToken();
  const typo = token.slice(0, 20) + (token[20] === 'a' ? 'b' : 'a') + token.slice(21);
  expect(isOperatorToken(typo)).toBe(false);
});

test('the hint shows the prefix and the last four characters', () => {
  const token = newOperatorToken();
  expect(tokenHint(token)).toBe(`pr_operator_…${token.slice(-4)}`);
});

const USABLE = { revokedAtMs: null, expiresAtMs: null, allowedIps: [] };

test.each<[string, Partial<Parameters<typeof checkUsable>[0]>]>([
  ['revoked_api_key', { revokedAtMs: 1 }],
  ['expired_api_key', { expiresAtMs: 1_000 }],
  ['ip_not_allowed', { allowedIps: ['203.0.113.0/24'] }],
])('refuses with %s: %o', (code, change) => {
  expect(() => checkUsable({ ...USABLE, ...change }, '198.51.100.1', 1_000)).toThrow(
    expect.objectContaining({ code }) as RefusedError,
  );
});

test('a key without limits can be used, and one with a network from there', () => {
  checkUsable(USABLE, '198.51.100.1', 1_000);
  checkUsable(
    { ...USABLE, expiresAtMs: 1_001, allowedIps: ['198.51.100.0/24'] },
    '198.51.100.1',
    1_000,
  );
});
