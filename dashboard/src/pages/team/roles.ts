import type { Schema } from '../../api/client.ts';

export type Role = Schema<'Member'>['role'];

/** What each role is, from the widest to the narrowest. */
export const ROLES: { role: Role; label: string; hint: string }[] = [
  { role: 'owner', label: 'Owner', hint: 'Everything, and the only one who can change owners.' },
  { role: 'admin', label: 'Admin', hint: 'Everything but owners.' },
  {
    role: 'developer',
    label: 'Developer',
    hint: 'Sends, keys, templates, webhooks. Not domains, not the team.',
  },
  { role: 'viewer', label: 'Viewer', hint: 'Sees everything, changes nothing.' },
];

/** Only an owner makes, changes or removes an owner. */
export function assignableRoles(own: Role): Role[] {
  return ROLES.map(({ role }) => role).filter((role) => role !== 'owner' || own === 'owner');
}
