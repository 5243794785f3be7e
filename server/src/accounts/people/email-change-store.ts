import type { Queryable } from '../../db/connections/pool.ts';
import { sqlTime } from '../../db/schema/row-types.ts';
import type { EmailChangesRow } from '../../db/schema/tables.ts';
import { selectList } from '../../db/statements/select-list.ts';
import type { Person } from './person-store.ts';

/** A change of a sign-in address that can still be confirmed or undone. */
export interface EmailChange {
  id: string;
  personId: string;
  email: string;
  emailKey: string;
}

/** Can be undone. */
export interface ConfirmedChange extends EmailChange {
  previousEmail: string;
  previousEmailKey: string;
  /** Null if the previous address was not verified. */
  previousEmailVerifiedAtMs: number | null;
}

const CHANGE = { id: 'id', personId: 'person_id', email: 'email', emailKey: 'email_key' } as const;

const COLUMNS = selectList<EmailChangesRow, EmailChange>(CHANGE);

const CONFIRMED_COLUMNS = `${COLUMNS}, previous_email as "previousEmail",
  previous_email_key as "previousEmailKey",
  previous_email_verified_at as "previousEmailVerifiedAtMs"`;

/** Replaces a pending change of the person. */
export async function insertChange(
  db: Queryable,
  change: EmailChange,
  tokenHash: Buffer,
  endsAtMs: number,
): Promise<void> {
  await deletePendingChanges(db, change.personId);
  await db.query(
    `insert into email_changes (id, person_id, email, email_key, token_hash, expires_at)
     values ($1, $2, $3, $4, $5, $6)`,
    [change.id, change.personId, change.email, change.emailKey, tokenHash, sqlTime(endsAtMs)],
  );
}

export async function findPendingChange(
  db: Queryable,
  personId: string,
  tokenHash: Buffer,
  nowMs: number,
): Promise<EmailChange | undefined> {
  const { rows } = await db.query<EmailChange>(
    `select ${COLUMNS} from email_changes
     where token_hash = $1 and person_id = $2 and previous_email is null and expires_at > $3`,
    [tokenHash, personId, sqlTime(nowMs)],
  );
  return rows[0];
}

/** The link that confirmed the change does not work again: the notice gets a secret of its own. */
export async function confirmChange(
  db: Queryable,
  id: string,
  previous: Pick<Person, 'email' | 'emailKey' | 'emailVerifiedAtMs'>,
  unusedHash: Buffer,
  { nowMs, endsAtMs }: { nowMs: number; endsAtMs: number },
): Promise<void> {
  await db.query(
    `update email_changes set previous_email = $2, previous_email_key = $3, token_hash = $4,
       expires_at = $5, notice_due_at = $6, previous_email_verified_at = $7 where id = $1`,
    [
      id,
      previous.email,
      previous.emailKey,
      unusedHash,
      sqlTime(endsAtMs),
      sqlTime(nowMs),
      sqlTime(previous.emailVerifiedAtMs),
    ],
  );
}

/**
 * Claims a change whose previous address was not notified yet, and gives it the secret for that
 * email. If the email is not submitted before `retryAtMs`, the notice becomes due again.
 */
export async function claimNotice(
  db: Queryable,
  tokenHash: Buffer,
  { nowMs, retryAtMs }: { nowMs: number; retryAtMs: number },
): Promise<ConfirmedChange | undefined> {
  const { rows } = await db.query<ConfirmedChange>(
    `update email_changes set token_hash = $1, notice_due_at = $2 where id = (
       select id from email_changes where notice_due_at <= $3 and expires_at > $3
       order by notice_due_at limit 1 for update skip locked)
     returning ${CONFIRMED_COLUMNS}`,
    [tokenHash, sqlTime(retryAtMs), sqlTime(nowMs)],
  );
  return rows[0];
}

export async function markNotified(db: Queryable, tokenHash: Buffer): Promise<void> {
  await db.query('update email_changes set notice_due_at = null where token_hash = $1', [
    tokenHash,
  ]);
}

export async function findConfirmedChange(
  db: Queryable,
  tokenHash: Buffer,
  nowMs: number,
): Promise<ConfirmedChange | undefined> {
  const { rows } = await db.query<ConfirmedChange>(
    `select ${CONFIRMED_COLUMNS} from email_changes
     where token_hash = $1 and previous_email is not null and expires_at > $2`,
    [tokenHash, sqlTime(nowMs)],
  );
  return rows[0];
}

/** Deletes a change and all later ones of the person: their links must not work any more. */
export async function deleteChangesSince(
  db: Queryable,
  { personId, id }: Pick<EmailChange, 'personId' | 'id'>,
): Promise<void> {
  await db.query('delete from email_changes where person_id = $1 and id >= $2', [personId, id]);
}

export async function deletePendingChanges(db: Queryable, personId: string): Promise<void> {
  await db.query('delete from email_changes where person_id = $1 and previous_email is null', [
    personId,
  ]);
}

export async function deleteOldChanges(db: Queryable, nowMs: number): Promise<void> {
  await db.query('delete from email_changes where expires_at <= $1', [sqlTime(nowMs)]);
}
