import { expect, test } from 'vitest';
import type { Invitation } from './invitation-store.ts';
import { publicInvitation } from './invitations.ts';

const INVITATION: Invitation = {
  workspaceId: '00000000-0000-7000-8000-000000000001',
  id: '00000000-0000-7000-8000-000000000002',
  email: 'Joe@example.com',
  emailKey: 'joe@example.com',
  role: 'viewer',
  invitedBy: '00000000-0000-7000-8000-000000000003',
  createdAtMs: 0,
  endsAtMs: 1_000,
  acceptedAtMs: null,
  revokedAtMs: null,
  messageId: null,
};

test.each<[string, Partial<Invitation>, number]>([
  ['pending', {}, 999],
  ['expired', {}, 1_000],
  ['accepted', { acceptedAtMs: 500 }, 2_000],
  ['revoked', { revokedAtMs: 500 }, 999],
  ['accepted', { acceptedAtMs: 400, revokedAtMs: 500 }, 999],
])('an invitation is %s: %o at %i', (status, change, nowMs) => {
  expect(publicInvitation({ ...INVITATION, ...change }, nowMs).status).toBe(status);
});
