import type { Queryable } from '../../db/connections/pool.ts';
import { sqlTime } from '../../db/schema/row-types.ts';
import type { PeopleRow } from '../../db/schema/tables.ts';
import { selectList } from '../../db/statements/select-list.ts';
import { uuidv7 } from '../../lib/ids.ts';

/** A user who can sign in. */
export interface Person {
  id: string;
  email: string;
  emailKey: string;
  name: string;
  /** Null for an account that an identity provider created and that has no password yet. */
  passwordHash: string | null;
  /** Encrypted. */
  totpSecret: Buffer | null;
  totpConfirmedAtMs: number | null;
  totpStep: number | null;
  recoveryHashes: Buffer[];
  createdAtMs: number;
  /** When it was proved that the person receives the mail of the address; null if it was not. */
  emailVerifiedAtMs: number | null;
  /** When the account is deleted, if its owner asked for it. */
  deleteAtMs: number | null;
  /** Whether the person manages the operator keys of the server. */
  isInstanceOwner: boolean;
}

/** A new person, without a second factor. */
export function newPerson(
  fields: Pick<Person, 'email' | 'emailKey' | 'name' | 'passwordHash' | 'emailVerifiedAtMs'>,
  nowMs: number,
): Person {
  return {
    id: uuidv7(nowMs),
    ...fields,
    totpSecret: null,
    totpConfirmedAtMs: null,
    totpStep: null,
    recoveryHashes: [],
    createdAtMs: nowMs,
    deleteAtMs: null,
    isInstanceOwner: false,
  };
}

export const PERSON_COLUMNS = selectList<PeopleRow, Person>(
  {
    id: 'id',
    email: 'email',
    emailKey: 'email_key',
    name: 'name',
    passwordHash: 'password_hash',
    totpSecret: 'totp_secret',
    totpConfirmedAtMs: 'totp_confirmed_at',
    totpStep: 'totp_step',
    recoveryHashes: 'recovery_hashes',
    createdAtMs: 'created_at',
    emailVerifiedAtMs: 'email_verified_at',
    deleteAtMs: 'delete_at',
    isInstanceOwner: 'is_instance_owner',
  },
  'p',
);

/** Returns false when the address already has an account. */
export async function insertPerson(db: Queryable, person: Person): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into people (id, email, email_key, name, password_hash, created_at, email_verified_at)
     values ($1, $2, $3, $4, $5, $6, $7) on conflict (email_key) do nothing`,
    [
      person.id,
      person.email,
      person.emailKey,
      person.name,
      person.passwordHash,
      sqlTime(person.createdAtMs),
      sqlTime(person.emailVerifiedAtMs),
    ],
  );
  return rowCount === 1;
}

export async function setInstanceOwner(
  db: Queryable,
  id: string,
  isInstanceOwner: boolean,
): Promise<void> {
  await db.query('update people set is_instance_owner = $2 where id = $1', [id, isInstanceOwner]);
}

/** Until the transaction ends, no other account can be created. */
export async function lockPeople(db: Queryable): Promise<void> {
  await db.query('lock table people in share row exclusive mode');
}

export async function anyPersonExists(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>(
    'select exists (select from people) as found',
  );
  return rows[0]?.found ?? false;
}

export async function findPerson(
  db: Queryable,
  id: string,
  lock: '' | 'for update' = '',
): Promise<Person | undefined> {
  const { rows } = await db.query<Person>(
    `select ${PERSON_COLUMNS} from people p where p.id = $1 ${lock}`,
    [id],
  );
  return rows[0];
}

/** Oldest first, with the workspaces of each by name. */
export async function listPeople(
  db: Queryable,
): Promise<(Person & { memberships: MembershipText[] })[]> {
  const { rows } = await db.query<Person & { memberships: MembershipText[] }>(
    `select ${PERSON_COLUMNS}, coalesce((
       select json_agg(json_build_object('workspace', w.name, 'role', m.role) order by w.id)
       from memberships m join workspaces w on w.id = m.workspace_id
       where m.person_id = p.id), '[]') as memberships
     from people p order by p.id`,
  );
  return rows;
}

export interface MembershipText {
  workspace: string;
  role: string;
}

export async function findPersonByEmail(
  db: Queryable,
  emailKey: string,
): Promise<Person | undefined> {
  const { rows } = await db.query<Person>(
    `select ${PERSON_COLUMNS} from people p where p.email_key = $1`,
    [emailKey],
  );
  return rows[0];
}

/** One statement whether the person exists or not: the response time must not reveal it. */
export async function findForSignIn(
  db: Queryable,
  emailKey: string,
  source: string,
): Promise<(Person & { sourceIsKnown: boolean }) | undefined> {
  const { rows } = await db.query<Person & { sourceIsKnown: boolean }>(
    `select ${PERSON_COLUMNS}, exists (
       select from sessions s where s.person_id = p.id and s.source = $2) as "sourceIsKnown"
     from people p where p.email_key = $1`,
    [emailKey, source],
  );
  return rows[0];
}

/**
 * Returns false when the password changed since it was checked. The row stays locked until the
 * transaction ends, so that what is granted for the password does not outlive a change.
 */
export async function lockIfPasswordUnchanged(
  db: Queryable,
  { id, passwordHash }: Pick<Person, 'id' | 'passwordHash'>,
): Promise<boolean> {
  const { rowCount } = await db.query(
    'select from people where id = $1 and password_hash = $2::text for no key update',
    [id, passwordHash],
  );
  return rowCount === 1;
}

export async function updateName(db: Queryable, id: string, name: string): Promise<void> {
  await db.query('update people set name = $2 where id = $1', [id, name]);
}

/**
 * Sets an address that has just been verified. It must not belong to another account: `email_key` is
 * unique.
 */
export async function updateEmail(
  db: Queryable,
  id: string,
  { email, emailKey }: Pick<Person, 'email' | 'emailKey'>,
  verifiedAtMs: number,
): Promise<void> {
  await db.query(
    'update people set email = $2, email_key = $3, email_verified_at = $4 where id = $1',
    [id, email, emailKey, sqlTime(verifiedAtMs)],
  );
}

/** The address of a person who has proved to receive its mail. An earlier time stays. */
export async function setEmailVerified(db: Queryable, id: string, nowMs: number): Promise<void> {
  await db.query(
    'update people set email_verified_at = $2 where id = $1 and email_verified_at is null',
    [id, sqlTime(nowMs)],
  );
}

/** Null removes the password. */
export async function updatePassword(
  db: Queryable,
  id: string,
  hash: string | null,
): Promise<void> {
  await db.query('update people set password_hash = $2 where id = $1', [id, hash]);
}

export async function updateSecondFactor(
  db: Queryable,
  person: Pick<Person, 'id' | 'totpSecret' | 'totpConfirmedAtMs' | 'totpStep' | 'recoveryHashes'>,
): Promise<void> {
  await db.query(
    `update people set totp_secret = $2, totp_confirmed_at = $3, totp_step = $4,
       recovery_hashes = $5 where id = $1`,
    [
      person.id,
      person.totpSecret,
      sqlTime(person.totpConfirmedAtMs),
      person.totpStep,
      person.recoveryHashes,
    ],
  );
}

/**
 * Deletes those of these people who are not members of any workspace, with their sessions and tokens;
 * returns how many. The last account stays: without one, setup would be open to the next visitor.
 * The rows are locked first, so that someone who is joining a workspace at this moment is kept.
 */
export async function deletePeopleWithoutWorkspace(
  db: Queryable,
  ids: readonly string[],
): Promise<number> {
  if (ids.length === 0) return 0;
  await lockPeople(db);
  await db.query('select from people where id = any($1) order by id for update', [ids]);
  const { rowCount } = await db.query(
    `delete from people p where p.id = any($1)
       and not exists (select from memberships m where m.person_id = p.id)
       and not exists (select from moved_members m where m.person_id = p.id)
       and p.id <> (select id from people order by
         exists (select from memberships m where m.person_id = people.id) desc, id limit 1)`,
    [ids],
  );
  return rowCount ?? 0;
}

/** Whether another account stays, which is not scheduled for deletion. */
export async function otherPersonStays(db: Queryable, id: string): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>(
    'select exists (select from people where id <> $1 and delete_at is null) as found',
    [id],
  );
  return rows[0]?.found ?? false;
}

/** Schedules an account for deletion, or keeps it. */
export async function setDeleteAt(
  db: Queryable,
  id: string,
  deletion: { deleteAtMs: number; emailDueAtMs: number } | null,
): Promise<void> {
  await db.query('update people set delete_at = $2, deletion_email_due_at = $3 where id = $1', [
    id,
    sqlTime(deletion?.deleteAtMs ?? null),
    sqlTime(deletion?.emailDueAtMs ?? null),
  ]);
}

/** Accounts whose email about the deletion was not submitted. Each is due again later, or on no node. */
export async function claimDueDeletionEmails(
  db: Queryable,
  nowMs: number,
  nextDueAtMs: number,
): Promise<Person[]> {
  const { rows } = await db.query<Person>(
    `update people p set deletion_email_due_at = $2
     where p.deletion_email_due_at <= $1 and p.delete_at > $1 returning ${PERSON_COLUMNS}`,
    [sqlTime(nowMs), sqlTime(nextDueAtMs)],
  );
  return rows;
}

/** The email about this deletion was submitted; a later deletion has its own. */
export async function finishDeletionEmail(
  db: Queryable,
  id: string,
  deleteAtMs: number,
): Promise<void> {
  await db.query(
    'update people set deletion_email_due_at = null where id = $1 and delete_at = $2',
    [id, sqlTime(deleteAtMs)],
  );
}

/** Accounts whose time to be restored is over. */
export async function listDuePeople(db: Queryable, nowMs: number): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    'select id from people where delete_at <= $1 order by delete_at, id',
    [sqlTime(nowMs)],
  );
  return rows.map(({ id }) => id);
}

/** Sessions and tokens are deleted with the person. */
export async function deletePerson(db: Queryable, id: string): Promise<void> {
  await db.query('delete from people where id = $1', [id]);
}
