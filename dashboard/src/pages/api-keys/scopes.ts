import type { Schema } from '../../api/client.ts';
import type { Mode } from '../../session/selection.ts';

export type Scope = NonNullable<Schema<'CreateApiKey'>['scopes']>[number];

/** API key scopes as rows of a table: read on the left, write on the right. */
export const SCOPE_ROWS: { label: string; read?: Scope; write?: Scope }[] = [
  { label: 'Send messages', write: 'send:transactional' },
  { label: 'Messages', read: 'read:messages', write: 'write:messages' },
  {
    label: 'Inbound messages',
    read: 'read:inbound_messages',
    write: 'write:inbound_messages',
  },
  { label: 'Events', read: 'read:events' },
  { label: 'Templates', read: 'read:templates', write: 'write:templates' },
  { label: 'Contacts', read: 'read:contacts', write: 'write:contacts' },
  { label: 'Domains', read: 'read:domains', write: 'write:domains' },
  { label: 'Streams', read: 'read:streams', write: 'write:streams' },
  { label: 'Suppressions', read: 'read:suppressions', write: 'write:suppressions' },
  { label: 'Webhooks', read: 'read:webhooks', write: 'write:webhooks' },
  { label: 'Request log', read: 'read:logs' },
  { label: 'Audit log', read: 'read:audit_log' },
  { label: 'API keys', read: 'read:api_keys', write: 'write:api_keys' },
];

export const ALL_SCOPES: Scope[] = SCOPE_ROWS.flatMap(({ read, write }) => [
  ...(read ? [read] : []),
  ...(write ? [write] : []),
]);

/** Live mail depends on domains, so test keys cannot change them. */
export function isAvailable(scope: Scope, mode: Mode): boolean {
  return mode === 'live' || scope !== 'write:domains';
}

export const PRESETS = {
  send: {
    label: 'Send only',
    hint: 'For applications that only send email.',
    scopes: ['send:transactional'] as Scope[],
  },
  app: {
    label: 'Send and read',
    hint: 'Also reads messages and events, to follow delivery.',
    scopes: ['send:transactional', 'read:messages', 'read:events'] as Scope[],
  },
  read: {
    label: 'Read only',
    hint: 'Read access to everything except the audit log. For reports and monitoring.',
    scopes: ALL_SCOPES.filter((scope) => scope.startsWith('read:') && scope !== 'read:audit_log'),
  },
  all: {
    label: 'Full access',
    hint: 'Everything your own role allows.',
    scopes: ALL_SCOPES,
  },
};

export type Preset = keyof typeof PRESETS | 'custom';

export function presetOf(scopes: readonly string[], mode: Mode): Preset {
  const same = Object.entries(PRESETS).find(([, preset]) => {
    const available = preset.scopes.filter((scope) => isAvailable(scope, mode));
    return available.length === scopes.length && available.every((scope) => scopes.includes(scope));
  });
  return (same?.[0] as Preset | undefined) ?? 'custom';
}

/** A short description for the list. */
export function describeScopes(scopes: readonly string[], mode: Mode): string {
  const preset = presetOf(scopes, mode);
  if (preset !== 'custom') return PRESETS[preset].label;
  if (scopes.length <= 2) return scopes.join(', ');
  return `${scopes.slice(0, 2).join(', ')} and ${scopes.length - 2} more`;
}
