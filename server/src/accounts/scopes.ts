/** What a caller may do. An operation whose scope is missing has no effect at all. */
export const SCOPES = [
  'send:transactional',
  'read:messages',
  'write:messages',
  'read:templates',
  'write:templates',
  'read:contacts',
  'write:contacts',
  'read:domains',
  'write:domains',
  'read:suppressions',
  'write:suppressions',
  'read:webhooks',
  'write:webhooks',
  'read:api_keys',
  'write:api_keys',
  'read:events',
] as const;

export type Scope = (typeof SCOPES)[number];

export function isScope(text: string): text is Scope {
  return (SCOPES as readonly string[]).includes(text);
}
