import { SCOPES, type Scope } from './scopes.ts';

/**
 * What people may do, by their role in a workspace. A person's session has the scopes of the role,
 * and rights that no API key can have: those over the team and the workspace itself.
 */

export const ROLES = ['owner', 'admin', 'developer', 'viewer'] as const;

export type Role = (typeof ROLES)[number];

export const TEAM_RIGHTS = ['read:members', 'write:members', 'write:workspace'] as const;

export type TeamRight = (typeof TEAM_RIGHTS)[number];

export type Right = Scope | TeamRight;

const ALL: readonly Right[] = [...SCOPES, ...TEAM_RIGHTS];

/**
 * Control over domains or members ultimately allows sending as anyone, so it is reserved for
 * admins. The audit log shows what admins do, and from where.
 */
const NOT_FOR_DEVELOPERS = new Set<Right>([
  'write:domains',
  'write:members',
  'write:workspace',
  'read:audit_log',
]);

const RIGHTS: Record<Role, ReadonlySet<Right>> = {
  owner: new Set(ALL),
  admin: new Set(ALL),
  developer: new Set(ALL.filter((right) => !NOT_FOR_DEVELOPERS.has(right))),
  viewer: new Set(
    ALL.filter((right) => right.startsWith('read:') && !NOT_FOR_DEVELOPERS.has(right)),
  ),
};

export function rightsOf(role: Role): ReadonlySet<Right> {
  return RIGHTS[role];
}

/** The rights of a role that are also API key scopes. */
export function scopesOf(role: Role): ReadonlySet<Scope> {
  return SCOPES_OF[role];
}

const SCOPES_OF: Record<Role, ReadonlySet<Scope>> = {
  owner: scopesAmong(RIGHTS.owner),
  admin: scopesAmong(RIGHTS.admin),
  developer: scopesAmong(RIGHTS.developer),
  viewer: scopesAmong(RIGHTS.viewer),
};

function scopesAmong(rights: ReadonlySet<Right>): ReadonlySet<Scope> {
  return new Set(SCOPES.filter((scope) => rights.has(scope)));
}

export function isTeamRight(text: string): text is TeamRight {
  return (TEAM_RIGHTS as readonly string[]).includes(text);
}

/** Only an owner can add, change or remove an owner. */
export function canManageRole(actor: Role, role: Role): boolean {
  return role !== 'owner' || actor === 'owner';
}
