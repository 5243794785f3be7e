import type { Schema } from '../../api/client.ts';

export type Scope = NonNullable<Schema<'CreateApiKey'>['scopes']>[number];

/** What a key may do, as rows of a small table: reading on the left, changing on the right. */
export const SCOPE_ROWS: { label: string; read?: Scope; write?: Scope }[] = [
  { label: 'Send messages', write: 'send:transactional' },
  { label: 'Messages', read: 'read:messages', write: 'write:messages' },
  { label: 'Events', read: 'read:events' },
  { label: 'Templates', read: 'read:templates', write: 'write:templates' },
  { label: 'Contacts', read: 'read:contacts', write: 'write:contacts' },
  { label: 'Domains', read: 'read:domains', write: 'write:domains' },
  { label: 'Suppressions', read: 'read:suppressions', write: 'write:suppressions' },
  { label: 'Webhooks', read: 'read:webhooks', write: 'write:webhooks' },
  { label: 'API keys', read: 'read:api_keys', write: 'write:api_keys' },
];

export const ALL_SCOPES: Scope[] = SCOPE_ROWS.flatMap(({ read, write }) => [
  ...(read ? [read] : []),
  ...(write ? [write] : []),
]);

export const PRESETS = {
  send: {
    label: 'Sending only',
    hint: 'For an application that sends mail and needs nothing else.',
    scopes: ['send:transactional'] as Scope[],
  },
  app: {
    label: 'Sending and following',
    hint: 'Also reads messages and events, to see what became of them.',
    scopes: ['send:transactional', 'read:messages', 'read:events'] as Scope[],
  },
  read: {
    label: 'Reading only',
    hint: 'Sees everything, changes nothing. For reports and monitoring.',
    scopes: ALL_SCOPES.filter((scope) => scope.startsWith('read:')),
  },
  all: {
    label: 'Everything',
    hint: 'All that you may do yourself.',
    scopes: ALL_SCOPES,
  },
};

export type Preset = keyof typeof PRESETS | 'custom';

export function presetOf(scopes: readonly string[]): Preset {
  const same = Object.entries(PRESETS).find(
    ([, preset]) =>
      preset.scopes.length === scopes.length &&
      preset.scopes.every((scope) => scopes.includes(scope)),
  );
  return (same?.[0] as Preset | undefined) ?? 'custom';
}

/** In a few words, for the list. */
export function describeScopes(scopes: readonly string[]): string {
  const preset = presetOf(scopes);
  if (preset !== 'custom') return PRESETS[preset].label;
  if (scopes.length <= 2) return scopes.join(', ');
  return `${scopes.slice(0, 2).join(', ')} and ${scopes.length - 2} more`;
}
