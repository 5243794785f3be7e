import { expect, test } from 'vitest';
import { actionLabel } from './action-label.ts';

test('an entry says what happened; a command is shown as typed', () => {
  expect(actionLabel('upsertContact')).toBe('Created or updated a contact');
  expect(actionLabel('keys revoke')).toBe('postrider keys revoke');
  expect(actionLabel('someNewOperation')).toBe('Some new operation');
});
