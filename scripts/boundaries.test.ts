import { expect, test } from 'vitest';
import { hasFixedChannel, locksAndChanges } from './boundaries.ts';

const PARTITIONED = new Set(['deliveries']);

test('a statement that locks rows and changes a partitioned table is found', () => {
  const locked = 'with due as (select id from deliveries for update skip locked)';
  expect(locksAndChanges(`${locked} update deliveries set x = 1`, PARTITIONED)).toBe(true);
  expect(locksAndChanges(`${locked} delete from deliveries`, PARTITIONED)).toBe(true);
  expect(locksAndChanges(`${locked} update workspaces set x = 1`, PARTITIONED)).toBe(false);
  expect(locksAndChanges(locked, PARTITIONED)).toBe(false);
  expect(locksAndChanges('update deliveries set x = 1', PARTITIONED)).toBe(false);
});

test('a notification whose channel does not depend on the schema is found', () => {
  expect(hasFixedChannel("`select pg_notify('people', id::text) from ended`")).toBe(true);
  expect(hasFixedChannel("'notify deliveries'")).toBe(true);
  expect(hasFixedChannel("`select pg_notify(${channel('people')}, $1)`")).toBe(false);
  expect(hasFixedChannel('// notify the nodes: they listen')).toBe(false);
});
