import { expect, test } from 'vitest';
import { locksAndChanges } from './boundaries.ts';

const PARTITIONED = new Set(['deliveries']);

test('a statement that locks rows and changes a partitioned table is found', () => {
  const locked = 'with due as (select id from deliveries for update skip locked)';
  expect(locksAndChanges(`${locked} update deliveries set x = 1`, PARTITIONED)).toBe(true);
  expect(locksAndChanges(`${locked} delete from deliveries`, PARTITIONED)).toBe(true);
  expect(locksAndChanges(`${locked} update workspaces set x = 1`, PARTITIONED)).toBe(false);
  expect(locksAndChanges(locked, PARTITIONED)).toBe(false);
  expect(locksAndChanges('update deliveries set x = 1', PARTITIONED)).toBe(false);
});
