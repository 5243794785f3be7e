import type { Queryable } from '../../db/connections/pool.ts';
import { sqlTime } from '../../db/schema/row-types.ts';
import { PERSON_COLUMNS, type Person } from './person-store.ts';

export type TokenPurpose = 'password_reset' | 'second_factor' | 'passkey';

export async function insertToken(
  db: Queryable,
  token: { hash: Buffer; personId: string; purpose: TokenPurpose; endsAtMs: number },
): Promise<void> {
  await db.query(
    `insert into one_time_tokens (token_hash, person_id, purpose, expires_at)
     values ($1, $2, $3, $4)`,
    [token.hash, token.personId, token.purpose, sqlTime(token.endsAtMs)],
  );
}

/**
 * The person a token belongs to. With a lock, held until the transaction ends, a token can be used
 * only once.
 */
export async function findPersonOfToken(
  db: Queryable,
  hash: Buffer,
  purpose: TokenPurpose,
  nowMs: number,
  lock: '' | 'for update' = '',
): Promise<Person | undefined> {
  // The person is locked before the token is read: two transactions that each held a token would
  // deadlock when the first deletes all of them.
  if (lock) {
    await db.query(
      `select from people where id = (select person_id from one_time_tokens where token_hash = $1)
       for update`,
      [hash],
    );
  }
  const { rows } = await db.query<Person>(
    `select ${PERSON_COLUMNS} from one_time_tokens t join people p on p.id = t.person_id
     where t.token_hash = $1 and t.purpose = $2 and t.expires_at > $3`,
    [hash, purpose, sqlTime(nowMs)],
  );
  return rows[0];
}

/** Deletes all tokens of one purpose: older ones must not remain usable. */
export async function deleteTokens(
  db: Queryable,
  personId: string,
  purpose: TokenPurpose,
): Promise<void> {
  await db.query('delete from one_time_tokens where person_id = $1 and purpose = $2', [
    personId,
    purpose,
  ]);
}

export async function deleteAllTokens(db: Queryable, personId: string): Promise<void> {
  await db.query('delete from one_time_tokens where person_id = $1', [personId]);
}

export async function deleteOldTokens(db: Queryable, nowMs: number): Promise<void> {
  await db.query('delete from one_time_tokens where expires_at < $1', [sqlTime(nowMs)]);
}
