import type { Queryable } from '../../db/connections/pool.ts';
import { sqlTime } from '../../db/schema/row-types.ts';
import type { InvitationsRow } from '../../db/schema/tables.ts';
import { selectList } from '../../db/statements/select-list.ts';
import type { Role } from '../roles.ts';

export interface Invitation {
  workspaceId: string;
  id: string;
  email: string;
  emailKey: string;
  role: Role;
  /** The id of the person who invited; null if the operator did. */
  invitedBy: string | null;
  createdAtMs: number;
  endsAtMs: number;
  acceptedAtMs: number | null;
  revokedAtMs: number | null;
  /** The live message with the link; null if it was not sent by email. */
  messageId: string | null;
}

const COLUMNS = selectList<InvitationsRow, Invitation>(
  {
    workspaceId: 'workspace_id',
    id: 'id',
    email: 'email',
    emailKey: 'email_key',
    role: 'role',
    invitedBy: 'invited_by',
    createdAtMs: 'created_at',
    endsAtMs: 'expires_at',
    acceptedAtMs: 'accepted_at',
    revokedAtMs: 'revoked_at',
    messageId: 'message_id',
  },
  'i',
);

const OPEN = 'i.accepted_at is null and i.revoked_at is null';

export async function insertInvitation(
  db: Queryable,
  invitation: Invitation,
  tokenHash: Buffer,
): Promise<void> {
  await db.query(
    `insert into invitations (workspace_id, id, email, email_key, role, token_hash, invited_by,
       created_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      invitation.workspaceId,
      invitation.id,
      invitation.email,
      invitation.emailKey,
      invitation.role,
      tokenHash,
      invitation.invitedBy,
      sqlTime(invitation.createdAtMs),
      sqlTime(invitation.endsAtMs),
    ],
  );
}

/** Replaces the link of an invitation and who vouches for it, and extends it. */
export async function replaceLink(
  db: Queryable,
  { workspaceId, id, invitedBy, endsAtMs }: Invitation,
  tokenHash: Buffer,
): Promise<void> {
  await db.query(
    `update invitations set token_hash = $3, invited_by = $4, expires_at = $5, message_id = null
     where workspace_id = $1 and id = $2`,
    [workspaceId, id, tokenHash, invitedBy, sqlTime(endsAtMs)],
  );
}

/** Records the message with the link, unless the link was replaced in the meantime. */
export async function recordInvitationMessage(
  db: Queryable,
  tokenHash: Buffer,
  messageId: string,
): Promise<void> {
  await db.query('update invitations set message_id = $2 where token_hash = $1', [
    tokenHash,
    messageId,
  ]);
}

/** Newest first. */
export async function listInvitations(
  db: Queryable,
  workspaceId: string,
  page: { before?: string; limit: number },
): Promise<Invitation[]> {
  const { rows } = await db.query<Invitation>(
    `select ${COLUMNS} from invitations i
     where i.workspace_id = $1 and ($2::uuid is null or i.id < $2)
     order by i.id desc limit $3`,
    [workspaceId, page.before ?? null, page.limit],
  );
  return rows;
}

export async function countOpenInvitations(
  db: Queryable,
  workspaceId: string,
  nowMs: number,
): Promise<number> {
  const { rows } = await db.query<{ open: number }>(
    `select count(*) as open from invitations i
     where i.workspace_id = $1 and i.expires_at > $2 and ${OPEN}`,
    [workspaceId, sqlTime(nowMs)],
  );
  return rows[0]?.open ?? 0;
}

/** An invitation that can still be accepted, with the names that are shown to the invitee. */
export async function findOpenInvitation(
  db: Queryable,
  tokenHash: Buffer,
  nowMs: number,
  lock: '' | 'for update of i' = '',
): Promise<(Invitation & { workspaceName: string; inviterName: string | null }) | undefined> {
  const { rows } = await db.query<
    Invitation & { workspaceName: string; inviterName: string | null }
  >(
    `select ${COLUMNS}, w.name as "workspaceName", p.name as "inviterName"
     from invitations i join workspaces w on w.id = i.workspace_id
     left join people p on p.id = i.invited_by
     where i.token_hash = $1 and i.expires_at > $2 and ${OPEN} ${lock}`,
    [tokenHash, sqlTime(nowMs)],
  );
  return rows[0];
}

/** Returns false when there is no such open invitation. */
export async function revokeInvitation(
  db: Queryable,
  workspaceId: string,
  id: string,
  nowMs: number,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update invitations i set revoked_at = $3
     where i.workspace_id = $1 and i.id = $2 and i.expires_at > $3 and ${OPEN}`,
    [workspaceId, id, sqlTime(nowMs)],
  );
  return rowCount === 1;
}

export async function findInvitation(
  db: Queryable,
  workspaceId: string,
  id: string,
  lock: '' | 'for update' = '',
): Promise<Invitation | undefined> {
  const { rows } = await db.query<Invitation>(
    `select ${COLUMNS} from invitations i where i.workspace_id = $1 and i.id = $2 ${lock}`,
    [workspaceId, id],
  );
  return rows[0];
}

/** Revokes open invitations to an address, before a new one is created. */
export async function revokeOpenForEmail(
  db: Queryable,
  workspaceId: string,
  emailKey: string,
  nowMs: number,
): Promise<void> {
  await db.query(
    `update invitations i set revoked_at = $3
     where i.workspace_id = $1 and i.email_key = $2 and ${OPEN}`,
    [workspaceId, emailKey, sqlTime(nowMs)],
  );
}

/** An inviter who left or lost the permission can no longer vouch for an invitation. */
export async function revokeOpenByInviter(
  db: Queryable,
  workspaceId: string,
  invitedBy: string,
  nowMs: number,
): Promise<void> {
  await db.query(
    `update invitations i set revoked_at = $3
     where i.workspace_id = $1 and i.invited_by = $2 and ${OPEN}`,
    [workspaceId, invitedBy, sqlTime(nowMs)],
  );
}

export async function markAccepted(
  db: Queryable,
  invitation: Invitation,
  nowMs: number,
): Promise<void> {
  await db.query('update invitations set accepted_at = $3 where workspace_id = $1 and id = $2', [
    invitation.workspaceId,
    invitation.id,
    sqlTime(nowMs),
  ]);
}

/** Of all workspaces, in any state: the address of a deleted account must not remain in them. */
export async function deleteInvitationsTo(db: Queryable, emailKey: string): Promise<void> {
  await db.query('delete from invitations where email_key = $1', [emailKey]);
}
