import { expect, test } from 'vitest';
import { canManageRole, isTeamRight, ROLES, rightsOf, scopesOf, TEAM_RIGHTS } from './roles.ts';
import { SCOPES } from './scopes.ts';

test('owners and admins have every scope and every right over the team', () => {
  for (const role of ['owner', 'admin'] as const) {
    expect(rightsOf(role)).toEqual(new Set([...SCOPES, ...TEAM_RIGHTS]));
  }
});

test('developers can do everything except change domains, members and the workspace, and read the audit log', () => {
  const missing = [...rightsOf('owner')].filter((right) => !rightsOf('developer').has(right));
  expect(missing).toEqual(['write:domains', 'read:audit_log', 'write:members', 'write:workspace']);
});

test('viewers can only read', () => {
  const rights = [...rightsOf('viewer')];
  expect(rights).toContain('read:members');
  expect(rights.every((right) => right.startsWith('read:'))).toBe(true);
  expect(rightsOf('viewer').has('send:transactional')).toBe(false);
  expect(rightsOf('viewer').has('read:audit_log')).toBe(false);
});

test('the scopes of a role are its rights without those over the team', () => {
  for (const role of ROLES) {
    const rights = [...rightsOf(role)].filter((right) => !isTeamRight(right));
    expect([...scopesOf(role)]).toEqual(rights);
  }
});

test('only owners manage owners', () => {
  expect(canManageRole('owner', 'owner')).toBe(true);
  expect(canManageRole('admin', 'owner')).toBe(false);
  expect(canManageRole('admin', 'admin')).toBe(true);
  expect(canManageRole('admin', 'viewer')).toBe(true);
});
