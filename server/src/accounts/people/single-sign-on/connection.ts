import { encodeId } from '../../../lib/ids.ts';
import { RefusedError } from '../../../lib/refused-error.ts';
import type { Role } from '../../roles.ts';

/** The identity provider of a workspace: how its members sign in, and which role each of them gets. */
export interface Connection {
  workspaceId: string;
  /** `server`: the settings of the server configure it, and its claims are trusted everywhere. */
  managedBy: 'workspace' | 'server';
  /** The label of the button. */
  name: string;
  issuer: string;
  clientId: string;
  clientSecret: string;
  groupsClaim: string;
  /** The first match decides. */
  groupRoles: readonly GroupRole[];
  /** The role of users without a listed group; null if they have no access. */
  defaultRole: ProvidedRole | null;
  isEnforced: boolean;
}

/** Below the URL of the server. */
export const CALLBACK_PATH = '/sso/callback';

/**
 * The last part of the path to which a provider sends its responses; undefined if there is none. Every
 * provider has its own redirect URI (RFC 9700 section 4.4.2): a response of one provider cannot be taken
 * for one of another, which would receive its code.
 */
export function callbackId({
  workspaceId,
  managedBy,
}: Pick<Connection, 'workspaceId' | 'managedBy'>): string | undefined {
  return managedBy === 'server' ? undefined : encodeId('wsp', workspaceId);
}

/** Roles that a provider can give. Owners are appointed by owners: they can always sign in without it. */
export const PROVIDED_ROLES = ['admin', 'developer', 'viewer'] as const satisfies readonly Role[];

export type ProvidedRole = (typeof PROVIDED_ROLES)[number];

export interface GroupRole {
  group: string;
  role: ProvidedRole;
}

/** The role that the provider gives to a member of these groups; undefined for no access. */
export function providedRole(
  { groupRoles, defaultRole }: Pick<Connection, 'groupRoles' | 'defaultRole'>,
  groups: readonly string[],
): ProvidedRole | undefined {
  const has = new Set(groups);
  return groupRoles.find(({ group }) => has.has(group))?.role ?? defaultRole ?? undefined;
}

/** The groups in a claim: a list of names, one name, or an object whose keys are the names (Zitadel). */
export function groupsIn(claim: unknown): string[] {
  if (typeof claim === 'string') return [claim];
  if (typeof claim !== 'object' || claim === null) return [];
  const names: unknown[] = Array.isArray(claim) ? claim : Object.keys(claim);
  return names.filter((group) => typeof group === 'string');
}

export function singleSignOnRequired(): RefusedError {
  return new RefusedError(
    'single_sign_on_required',
    'This workspace requires you to sign in with its identity provider.',
  );
}
