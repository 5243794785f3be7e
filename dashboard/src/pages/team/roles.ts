import type { Schema } from '../../api/client.ts';

export type Role = Schema<'Member'>['role'];

/** The roles, from the most to the least permissions. */
export const ROLES: { role: Role; label: string; hint: string }[] = [
  { role: 'owner', label: 'Owner', hint: 'Full access, including managing owners.' },
  { role: 'admin', label: 'Admin', hint: 'Full access, except managing owners.' },
  {
    role: 'developer',
    label: 'Developer',
    hint: 'Sending, API keys, templates and webhooks. No domains or team.',
  },
  { role: 'viewer', label: 'Viewer', hint: 'Read-only access.' },
];

/** Only owners can assign, change or remove owners. */
export function assignableRoles(ownRole: Role): Role[] {
  return ROLES.map(({ role }) => role).filter((role) => role !== 'owner' || ownRole === 'owner');
}
