import type { Mode } from './tenant-scope.ts';

/** What a caller may do. An operation whose scope is missing has no effect at all. */
export const SCOPES = [
  'send:transactional',
  'read:messages',
  'write:messages',
  'read:inbound_messages',
  'write:inbound_messages',
  'read:templates',
  'write:templates',
  'read:contacts',
  'write:contacts',
  'read:domains',
  'write:domains',
  'read:streams',
  'write:streams',
  'read:suppressions',
  'write:suppressions',
  'read:webhooks',
  'write:webhooks',
  'read:api_keys',
  'write:api_keys',
  'read:events',
  'read:logs',
  'read:audit_log',
] as const;

export type Scope = (typeof SCOPES)[number];

/** Scopes that a key of this mode can use. All operations of `write:domains` require a live key. */
export function scopesFor(mode: Mode): readonly Scope[] {
  return mode === 'live' ? SCOPES : TEST_SCOPES;
}

const TEST_SCOPES = SCOPES.filter((scope) => scope !== 'write:domains');

export function isScope(text: string): text is Scope {
  return (SCOPES as readonly string[]).includes(text);
}
