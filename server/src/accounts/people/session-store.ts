import { channel } from '../../db/connections/notification-channels.ts';
import type { Queryable } from '../../db/connections/pool.ts';
import { sqlTime } from '../../db/schema/row-types.ts';
import type { SessionsRow } from '../../db/schema/tables.ts';
import { selectList } from '../../db/statements/select-list.ts';
import type { Role } from '../roles.ts';
import { PERSON_COLUMNS, type Person } from './person-store.ts';

export interface Session {
  id: string;
  personId: string;
  createdAtMs: number;
  seenAtMs: number;
  endsAtMs: number;
  ip: string;
  source: string;
  userAgent: string;
  /** The workspace whose identity provider started the session; null for a password. */
  workspaceId: string | null;
  /** Whether the session is valid in that workspace only. */
  isLimited: boolean;
}

/** The only workspace of a limited session. */
export function limitOf({ workspaceId, isLimited }: Session): string | null {
  return isLimited ? workspaceId : null;
}

const COLUMNS = selectList<SessionsRow, Session>(
  {
    id: 'id',
    personId: 'person_id',
    createdAtMs: 'created_at',
    seenAtMs: 'last_seen_at',
    endsAtMs: 'expires_at',
    ip: 'ip',
    source: 'source',
    userAgent: 'user_agent',
    workspaceId: 'workspace_id',
    isLimited: 'is_limited',
  },
  's',
);

export async function insertSession(
  db: Queryable,
  session: Session,
  tokenHash: Buffer,
  idToken: Buffer | null,
): Promise<void> {
  await db.query(
    `insert into sessions (token_hash, id, person_id, created_at, last_seen_at, expires_at, ip, source,
       user_agent, workspace_id, is_limited, id_token)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    [
      tokenHash,
      session.id,
      session.personId,
      sqlTime(session.createdAtMs),
      sqlTime(session.seenAtMs),
      sqlTime(session.endsAtMs),
      session.ip,
      session.source,
      session.userAgent,
      session.workspaceId,
      session.isLimited,
      idToken,
    ],
  );
}

/**
 * Whether the workspace of the membership `m` is closed to the session `s`, because its members must
 * sign in with their identity provider. Owners are exempt, so that a broken provider locks no one out.
 */
const NEEDS_SINGLE_SIGN_ON = `(m.role <> 'owner' and s.workspace_id is distinct from m.workspace_id
  and exists (select from oidc_connections c where c.workspace_id = m.workspace_id and c.is_enforced))`;

/** A limited session sees its own workspace only. */
const IN_LIMIT = '(not s.is_limited or s.workspace_id = m.workspace_id)';

export interface FoundSession {
  session: Session;
  person: Person;
  /** Undefined if the person is not a member of the workspace. */
  role: Role | undefined;
  /** The workspace requires its identity provider, and the session was started in another way. */
  needsSingleSignOn: boolean;
  /** The workspace is on its way to another installation, or its purge has begun. */
  isMoving: boolean;
}

/** The session of a presented secret, with its person and their role in the given workspace. */
export async function findSession(
  db: Queryable,
  tokenHash: Buffer,
  workspaceId: string | undefined,
  nowMs: number,
): Promise<FoundSession | undefined> {
  const { rows } = await db.query<FoundRow>({
    name: 'find-session',
    text: `select ${PERSON_COLUMNS}, m.role, s.id as "sessionId", s.created_at as "begunAtMs",
        s.last_seen_at as "seenAtMs", s.expires_at as "endsAtMs", s.ip, s.source,
        s.user_agent as "userAgent", s.workspace_id as "workspaceId", s.is_limited as "isLimited",
        coalesce(${NEEDS_SINGLE_SIGN_ON}, false) as "needsSingleSignOn",
        exists (select from workspaces w where w.id = m.workspace_id
                   and w.purge_started_at is not null) as "isMoving"
      from sessions s join people p on p.id = s.person_id
      left join memberships m on m.workspace_id = $2 and m.person_id = p.id and ${IN_LIMIT}
      where s.token_hash = $1 and s.expires_at > $3 and s.revoked_at is null`,
    values: [tokenHash, workspaceId ?? null, sqlTime(nowMs)],
  });
  const row = rows[0];
  if (!row) return undefined;
  const { role, needsSingleSignOn, isMoving, sessionId, begunAtMs, seenAtMs, endsAtMs, ...rest } =
    row;
  const { ip, source, userAgent, workspaceId: startedBy, isLimited, ...person } = rest;
  const times = { createdAtMs: begunAtMs, seenAtMs, endsAtMs };
  const client = { ip, source, userAgent };
  const provider = { workspaceId: startedBy, isLimited };
  const session = { id: sessionId, personId: person.id, ...times, ...client, ...provider };
  return { session, person, role: role ?? undefined, needsSingleSignOn, isMoving };
}

type FoundRow = Person &
  Omit<Session, 'id' | 'personId' | 'createdAtMs'> & {
    role: Role | null;
    needsSingleSignOn: boolean;
    isMoving: boolean;
    sessionId: string;
    begunAtMs: number;
  };

export async function extendSession(
  db: Queryable,
  id: string,
  seenAtMs: number,
  endsAtMs: number,
): Promise<void> {
  await db.query('update sessions set last_seen_at = $2, expires_at = $3 where id = $1', [
    id,
    sqlTime(seenAtMs),
    sqlTime(endsAtMs),
  ]);
}

/** The role in the workspace while the session is valid. */
export async function roleOfSession(
  db: Queryable,
  sessionId: string,
  workspaceId: string,
  nowMs: number,
): Promise<Role | undefined> {
  const { rows } = await db.query<{ role: Role }>(
    `select m.role from sessions s
     join memberships m on m.workspace_id = $2 and m.person_id = s.person_id
     where s.id = $1 and s.expires_at > $3 and s.revoked_at is null
       and ${IN_LIMIT} and not ${NEEDS_SINGLE_SIGN_ON}`,
    [sessionId, workspaceId, sqlTime(nowMs)],
  );
  return rows[0]?.role;
}

/** Active sessions, newest first; for a limited session those of its workspace. */
export async function listSessions(
  db: Queryable,
  personId: string,
  page: { nowMs: number; before?: string; limit: number; limitedTo: string | null },
): Promise<Session[]> {
  const { rows } = await db.query<Session>(
    `select ${COLUMNS} from sessions s
     where s.person_id = $1 and s.expires_at > $2 and s.revoked_at is null
       and ($3::uuid is null or s.id < $3) and ($5::uuid is null or s.workspace_id = $5)
     order by s.id desc limit $4`,
    [personId, sqlTime(page.nowMs), page.before ?? null, page.limit, page.limitedTo],
  );
  return rows;
}

/** The identity provider that started a session. */
export interface SessionProvider {
  workspaceId: string;
  /** Encrypted. */
  idToken: Buffer | null;
}

/** Returns the identity provider that started the session; undefined for others, and if none ended. */
export async function endSessionByToken(
  db: Queryable,
  tokenHash: Buffer,
  nowMs: number,
): Promise<SessionProvider | undefined> {
  const { rows } = await db.query<{ workspaceId: string | null; idToken: Buffer | null }>(
    `with ended as (
       update sessions set revoked_at = $2 where token_hash = $1 and revoked_at is null
       returning person_id, workspace_id, id_token)
     select workspace_id as "workspaceId", id_token as "idToken",
       pg_notify(${channel('people')}, person_id::text) from ended`,
    [tokenHash, sqlTime(nowMs)],
  );
  const { workspaceId = null, idToken = null } = rows[0] ?? {};
  return workspaceId === null ? undefined : { workspaceId, idToken };
}

/** Returns false when the person has no such session. */
export async function endSession(
  db: Queryable,
  personId: string,
  id: string,
  nowMs: number,
  limitedTo: string | null,
): Promise<boolean> {
  const { rowCount } = await db.query(
    withEndNotification(`update sessions set revoked_at = $3
      where person_id = $1 and id = $2 and revoked_at is null and expires_at > $3
        and ($4::uuid is null or workspace_id = $4)`),
    [personId, id, sqlTime(nowMs), limitedTo],
  );
  return rowCount === 1;
}

export async function endSessionsOfPerson(
  db: Queryable,
  personId: string,
  nowMs: number,
  {
    exceptId = null,
    limitedTo = null,
  }: { exceptId?: string | null; limitedTo?: string | null } = {},
): Promise<void> {
  await db.query(
    withEndNotification(`update sessions set revoked_at = $2
      where person_id = $1 and revoked_at is null and ($3::uuid is null or id <> $3)
        and ($4::uuid is null or workspace_id = $4)`),
    [personId, sqlTime(nowMs), exceptId, limitedTo],
  );
}

/** Ends the sessions that the identity provider of a workspace has started. */
export async function endSessionsOfProvider(
  db: Queryable,
  workspaceId: string,
  nowMs: number,
): Promise<void> {
  await db.query(
    withEndNotification(
      'update sessions set revoked_at = $2 where workspace_id = $1 and revoked_at is null',
    ),
    [workspaceId, sqlTime(nowMs)],
  );
}

/** Notifies every node in the same commit, so that streams opened by the session are closed. */
function withEndNotification(update: string): string {
  return `with ended as (${update} returning person_id)
    select pg_notify(${channel('people')}, person_id::text) from ended group by person_id`;
}

/** Deletes sessions that expired long ago. */
export async function deleteExpiredSessions(db: Queryable, beforeMs: number): Promise<void> {
  await db.query('delete from sessions where expires_at < $1', [sqlTime(beforeMs)]);
}
