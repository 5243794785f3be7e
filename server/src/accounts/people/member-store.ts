import { channel } from '../../db/connections/notification-channels.ts';
import type { Queryable } from '../../db/connections/pool.ts';
import { sqlTime } from '../../db/schema/row-types.ts';
import type { MembershipsRow, PeopleRow, WorkspacesRow } from '../../db/schema/tables.ts';
import { selectList } from '../../db/statements/select-list.ts';
import {
  containsTerms,
  type SearchedPage,
  searchPatterns,
} from '../../db/statements/text-search.ts';
import type { Role } from '../roles.ts';
import type { Deletion, Suspension } from '../workspace.ts';
import { STATE_COLUMNS, type StateColumns, toState } from '../workspace-store.ts';

/** A workspace as one of its members sees it. */
export interface Membership {
  workspaceId: string;
  workspaceName: string;
  workspaceCreatedAtMs: number;
  suspension: Suspension | null;
  deletion: Deletion | null;
  role: Role;
  /** Whether the member must sign in with the identity provider of the workspace. */
  isProviderRequired: boolean;
}

/** A member of a workspace as the others see them. */
export interface Member {
  personId: string;
  email: string;
  name: string;
  role: Role;
  joinedAtMs: number;
  hasSecondFactor: boolean;
  /** When the account is deleted, if its owner asked for it. */
  deleteAtMs: number | null;
}

interface MembershipRow extends Omit<Membership, 'suspension' | 'deletion'>, StateColumns {}

const MEMBERSHIP = `${selectList<MembershipsRow, Pick<MembershipRow, 'workspaceId' | 'role'>>(
  { workspaceId: 'workspace_id', role: 'role' },
  'm',
)}, ${selectList<WorkspacesRow, Omit<MembershipRow, 'workspaceId' | 'role' | 'isProviderRequired'>>(
  {
    workspaceName: 'name',
    workspaceCreatedAtMs: 'created_at',
    ...STATE_COLUMNS,
  },
  'w',
)}, m.role <> 'owner' and exists (select from oidc_connections c
    where c.workspace_id = m.workspace_id and c.is_enforced) as "isProviderRequired"
  from memberships m join workspaces w on w.id = m.workspace_id`;

const MEMBER = `${selectList<PeopleRow, Pick<Member, 'personId' | 'email' | 'name' | 'deleteAtMs'>>(
  { personId: 'id', email: 'email', name: 'name', deleteAtMs: 'delete_at' },
  'p',
)}, ${selectList<MembershipsRow, Pick<Member, 'role' | 'joinedAtMs'>>(
  { role: 'role', joinedAtMs: 'created_at' },
  'm',
)}, p.totp_confirmed_at is not null as "hasSecondFactor"
  from memberships m join people p on p.id = m.person_id`;

/** Returns false when the person is already a member. */
export async function insertMembership(
  db: Queryable,
  membership: { workspaceId: string; personId: string; role: Role; createdAtMs: number },
): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into memberships (workspace_id, person_id, role, created_at)
     values ($1, $2, $3, $4) on conflict (workspace_id, person_id) do nothing`,
    [membership.workspaceId, membership.personId, membership.role, sqlTime(membership.createdAtMs)],
  );
  return rowCount === 1;
}

/** Newest first; all of them, or the one that a limited session can use. */
export async function listMemberships(
  db: Queryable,
  personId: string,
  page: { before?: string; limit?: number; limitedTo?: string | null } = {},
): Promise<Membership[]> {
  const { rows } = await db.query<MembershipRow>(
    `select ${MEMBERSHIP}
     where m.person_id = $1 and ($2::uuid is null or m.workspace_id < $2)
       and ($4::uuid is null or m.workspace_id = $4)
     order by m.workspace_id desc limit $3`,
    [personId, page.before ?? null, page.limit ?? null, page.limitedTo ?? null],
  );
  return rows.map(toState);
}

export async function findMembership(
  db: Queryable,
  workspaceId: string,
  personId: string,
): Promise<Membership | undefined> {
  const { rows } = await db.query<MembershipRow>(
    `select ${MEMBERSHIP} where m.workspace_id = $1 and m.person_id = $2`,
    [workspaceId, personId],
  );
  return rows[0] && toState(rows[0]);
}

/** Newest account first. */
export async function listMembers(
  db: Queryable,
  workspaceId: string,
  page: SearchedPage,
): Promise<Member[]> {
  const { rows } = await db.query<Member>(
    `select ${MEMBER}
     where m.workspace_id = $1 and ($2::uuid is null or m.person_id < $2)
       and ${containsTerms('$4', ['p.name', 'p.email'])}
     order by m.person_id desc limit $3`,
    [workspaceId, page.before ?? null, page.limit, searchPatterns(page.text)],
  );
  return rows;
}

export async function findMember(
  db: Queryable,
  workspaceId: string,
  personId: string,
): Promise<Member | undefined> {
  const { rows } = await db.query<Member>(
    `select ${MEMBER} where m.workspace_id = $1 and m.person_id = $2`,
    [workspaceId, personId],
  );
  return rows[0];
}

export async function findMemberByEmail(
  db: Queryable,
  workspaceId: string,
  emailKey: string,
): Promise<Member | undefined> {
  const { rows } = await db.query<Member>(
    `select ${MEMBER} where m.workspace_id = $1 and p.email_key = $2`,
    [workspaceId, emailKey],
  );
  return rows[0];
}

/** Locks the members of a workspace until the transaction ends. */
export async function lockTeam(db: Queryable, workspaceId: string): Promise<void> {
  await db.query('select from workspaces where id = $1 for no key update', [workspaceId]);
}

export async function countMembers(db: Queryable, workspaceId: string): Promise<number> {
  const { rows } = await db.query<{ members: number }>(
    'select count(*) as members from memberships where workspace_id = $1',
    [workspaceId],
  );
  return rows[0]?.members ?? 0;
}

/** Whether the workspace has another owner whose account is not scheduled for deletion. */
export async function otherOwnerStays(
  db: Queryable,
  workspaceId: string,
  personId: string,
): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>(
    `select exists (${otherOwners('$1', '$2')}) as found`,
    [workspaceId, personId],
  );
  return rows[0]?.found ?? false;
}

/** Selects owners of a workspace, except a person and those whose accounts will be deleted. */
const otherOwners = (workspaceId: string, personId: string): string =>
  `select from memberships o join people p on p.id = o.person_id
   where o.workspace_id = ${workspaceId} and o.person_id <> ${personId} and o.role = 'owner'
     and p.delete_at is null`;

export async function countOwnedWorkspaces(db: Queryable, personId: string): Promise<number> {
  const { rows } = await db.query<{ owned: number }>(
    `select count(*) as owned from memberships where person_id = $1 and role = 'owner'`,
    [personId],
  );
  return rows[0]?.owned ?? 0;
}

/**
 * The names of workspaces that would have no owner without this person, except those that are scheduled
 * for deletion.
 */
export async function listSolelyOwned(db: Queryable, personId: string): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>(
    `select w.name from memberships m join workspaces w on w.id = m.workspace_id
     where m.person_id = $1 and m.role = 'owner' and w.delete_at is null
       and not exists (${otherOwners('m.workspace_id', 'm.person_id')})
     order by w.id`,
    [personId],
  );
  return rows.map(({ name }) => name);
}

export async function ownsSuspendedWorkspace(db: Queryable, personId: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from memberships m join workspaces w on w.id = m.workspace_id
     where m.person_id = $1 and m.role = 'owner' and w.suspended_at is not null limit 1`,
    [personId],
  );
  return rowCount === 1;
}

export async function updateRole(
  db: Queryable,
  workspaceId: string,
  personId: string,
  role: Role,
): Promise<void> {
  await db.query('update memberships set role = $3 where workspace_id = $1 and person_id = $2', [
    workspaceId,
    personId,
    role,
  ]);
  await notifyRightsChanged(db, personId);
}

export async function deleteMembership(
  db: Queryable,
  workspaceId: string,
  personId: string,
): Promise<void> {
  await db.query('delete from memberships where workspace_id = $1 and person_id = $2', [
    workspaceId,
    personId,
  ]);
  await notifyRightsChanged(db, personId);
}

/** Every node closes or rechecks what the person has open. */
async function notifyRightsChanged(db: Queryable, personId: string): Promise<void> {
  await db.query(`select pg_notify(${channel('people')}, $1)`, [personId]);
}

/**
 * Whether the operator limits the messages of a workspace that the person owns. In another workspace of
 * theirs, the same mail would not be limited.
 */
export async function ownsLimitedWorkspace(db: Queryable, personId: string): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>(
    `select exists (
       select from memberships m
         left join quotas q on q.workspace_id = m.workspace_id
         left join brakes b on b.workspace_id = m.workspace_id
       where m.person_id = $1 and m.role = 'owner'
         and (b.state is not null or coalesce(q.messages_per_hour, q.messages_per_day,
           q.messages_per_month) is not null)) as found`,
    [personId],
  );
  return rows[0]?.found ?? false;
}
