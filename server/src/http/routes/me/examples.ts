import { rightsOf } from '../../../accounts/roles.ts';

/** People as the reference shows them. */

export const WORKSPACE = {
  id: 'wsp_01kc8wzq4he2x9v7n5m3k1j0h8',
  name: 'Shop',
  role: 'owner',
  rights: [...rightsOf('owner')],
  created_at: '2026-11-01T08:00:00.000Z',
  suspended: null,
};

export const ME = {
  id: 'usr_01kc8wzq4he2x9v7n5m3k1j0h8',
  email: 'jane@shop.example',
  name: 'Jane Doe',
  created_at: '2026-11-01T08:00:00.000Z',
  totp_enabled: true,
  recovery_codes_left: 10,
  session: {
    id: 'ses_01kc8x3f7ye6qvj2m4n5p6q7r8',
    created_at: '2026-11-15T09:30:00.000Z',
    expires_at: '2026-11-22T09:30:00.000Z',
  },
  workspaces: [WORKSPACE],
};

export const SESSION = {
  ...ME.session,
  current: true,
  last_seen_at: '2026-11-15T09:30:00.000Z',
  ip: '203.0.113.7',
  user_agent: 'Mozilla/5.0',
};

export const MEMBER = {
  id: ME.id,
  email: ME.email,
  name: ME.name,
  role: 'owner',
  joined_at: ME.created_at,
  totp_enabled: true,
};

export const INVITATION = {
  id: 'inv_01kc8x3f7ye6qvj2m4n5p6q7r8',
  email: 'joe@shop.example',
  role: 'developer',
  status: 'pending',
  invited_by: ME.id,
  created_at: '2026-11-15T09:30:00.000Z',
  expires_at: '2026-11-22T09:30:00.000Z',
};
