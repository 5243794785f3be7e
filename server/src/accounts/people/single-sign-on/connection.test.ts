import { expect, test } from 'vitest';
import { groupsIn, providedRole } from './connection.ts';

const groupRoles = [
  { group: 'mail-admins', role: 'admin' },
  { group: 'engineers', role: 'developer' },
] as const;

test.each([
  [['engineers', 'mail-admins'], 'admin'],
  [['engineers'], 'developer'],
  [['Engineers'], 'viewer'],
  [[], 'viewer'],
])('groups %j give the role %s: the first entry of the mapping decides', (groups, role) => {
  expect(providedRole({ groupRoles, defaultRole: 'viewer' }, groups)).toBe(role);
});

test('without a default role, people without a listed group have no access', () => {
  expect(providedRole({ groupRoles, defaultRole: null }, ['sales'])).toBeUndefined();
});

test('a groups claim is a list of names, one name, or an object with names as keys', () => {
  expect(groupsIn(['a', 1, null, 'b'])).toEqual(['a', 'b']);
  expect(groupsIn('a')).toEqual(['a']);
  expect(groupsIn({ a: { organization: 'shop.example' }, b: true })).toEqual(['a', 'b']);
  for (const other of [undefined, null, 7]) expect(groupsIn(other)).toEqual([]);
});
