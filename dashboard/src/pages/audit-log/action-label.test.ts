import { expect, test } from 'vitest';
import { actionLabel } from './action-label.ts';

test('operations and commands are readable', () => {
  expect(actionLabel('createApiKey')).toBe('Create API key');
  expect(actionLabel('rotateDomainDkim')).toBe('Rotate domain DKIM');
  expect(actionLabel('suspendOperatorWorkspace')).toBe('Suspend workspace');
  expect(actionLabel('signIn')).toBe('Sign in');
  expect(actionLabel('keys revoke')).toBe('postrider keys revoke');
});
