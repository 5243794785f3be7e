import { expect, test } from 'vitest';
import { ALL_SCOPES, describeScopes, isAvailable, presetOf } from './scopes.ts';

test('full access of a test key does not include what test keys cannot use', () => {
  const testScopes = ALL_SCOPES.filter((scope) => isAvailable(scope, 'test'));
  expect(ALL_SCOPES.filter((scope) => !testScopes.includes(scope))).toEqual(['write:domains']);
  expect(presetOf(testScopes, 'test')).toBe('all');
  expect(describeScopes(testScopes, 'test')).toBe('Full access');
  expect(presetOf(testScopes, 'live')).toBe('custom');
  expect(presetOf(ALL_SCOPES, 'live')).toBe('all');
});
