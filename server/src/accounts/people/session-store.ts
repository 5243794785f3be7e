import type { Queryable } from '../../db/pool.ts';
import { sqlTime } from '../../db/row-types.ts';
import { selectList } from '../../db/select-list.ts';
import type { SessionsRow } from '../../db/tables.ts';
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
  },
  's',
);

export async function insertSession(
  db: Queryable,
  session: Session,
  tokenHash: Buffer,
): Promise<void> {
  await db.query(
    `insert into sessions (token_hash, id, person_id, created_at, last_seen_at, expires_at, ip, source,
       user_agent)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
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
    ],
  );
}

/** The session of a presented secret, with its person and their role in the given workspace. */
export async function findSession(
  db: Queryable,
  tokenHash: Buffer,
  workspaceId: string | undefined,
  nowMs: number,
): Promise<{ session: Session; person: Person; role: Role | undefined } | undefined> {
  const { rows } = await db.query<FoundRow>({
    name: 'find-session',
    text: `select ${PERSON_COLUMNS}, m.role, s.id as "sessionId", s.created_at as "begunAtMs",
        s.last_seen_at as "seenAtMs", s.expires_at as "endsAtMs", s.ip, s.source,
        s.user_agent as "userAgent"
      from sessions s join people p on p.id = s.person_id
      left join memberships m on m.workspace_id = $2 and m.person_id = p.id
      where s.token_hash = $1 and s.expires_at > $3 and s.revoked_at is null`,
    values: [tokenHash, workspaceId ?? null, sqlTime(nowMs)],
  });
  const row = rows[0];
  if (!row) return undefined;
  const { role, sessionId, begunAtMs, seenAtMs, endsAtMs, ip, source, userAgent, ...person } = row;
  const times = { createdAtMs: begunAtMs, seenAtMs, endsAtMs };
  const session = { id: sessionId, personId: person.id, ...times, ip, source, userAgent };
  return { session, person, role: role ?? undefined };
}

type FoundRow = Person &
  Omit<Session, 'id' | 'personId' | 'createdAtMs'> & {
    role: Role | null;
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
     where s.id = $1 and s.expires_at > $3 and s.revoked_at is null`,
    [sessionId, workspaceId, sqlTime(nowMs)],
  );
  return rows[0]?.role;
}

/** Active sessions, newest first. */
export async function listSessions(
  db: Queryable,
  personId: string,
  page: { nowMs: number; before?: string; limit: number },
): Promise<Session[]> {
  const { rows } = await db.query<Session>(
    `select ${COLUMNS} from sessions s
     where s.person_id = $1 and s.expires_at > $2 and s.revoked_at is null
       and ($3::uuid is null or s.id < $3)
     order by s.id desc limit $4`,
    [personId, sqlTime(page.nowMs), page.before ?? null, page.limit],
  );
  return rows;
}

export async function endSessionByToken(
  db: Queryable,
  tokenHash: Buffer,
  nowMs: number,
): Promise<void> {
  await db.query(
    withEndNotification(
      'update sessions set revoked_at = $2 where token_hash = $1 and revoked_at is null',
    ),
    [tokenHash, sqlTime(nowMs)],
  );
}

/** Returns false when the person has no such session. */
export async function endSession(
  db: Queryable,
  personId: string,
  id: string,
  nowMs: number,
): Promise<boolean> {
  const { rowCount } = await db.query(
    withEndNotification(`update sessions set revoked_at = $3
      where person_id = $1 and id = $2 and revoked_at is null and expires_at > $3`),
    [personId, id, sqlTime(nowMs)],
  );
  return rowCount === 1;
}

export async function endSessionsOfPerson(
  db: Queryable,
  personId: string,
  nowMs: number,
  exceptId?: string,
): Promise<void> {
  await db.query(
    withEndNotification(`update sessions set revoked_at = $2
      where person_id = $1 and revoked_at is null and ($3::uuid is null or id <> $3)`),
    [personId, sqlTime(nowMs), exceptId ?? null],
  );
}

/** Notifies every node in the same commit, so that streams opened by the session are closed. */
function withEndNotification(update: string): string {
  return `with ended as (${update} returning person_id)
    select pg_notify('people', person_id::text) from ended group by person_id`;
}

/** Deletes sessions that expired long ago. */
export async function deleteExpiredSessions(db: Queryable, beforeMs: number): Promise<void> {
  await db.query('delete from sessions where expires_at < $1', [sqlTime(beforeMs)]);
}
