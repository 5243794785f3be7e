import type { Queryable } from '../../db/pool.ts';
import { sqlTime } from '../../db/row-types.ts';
import { PERSON_COLUMNS, type Person } from './person-store.ts';

export type TokenPurpose = 'password_reset' | 'second_factor';

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

/** The person a token stands for. Locked until the transaction ends, it can be used once only. */
export async function findPersonOfToken(
  db: Queryable,
  hash: Buffer,
  purpose: TokenPurpose,
  nowMs: number,
  lock: '' | 'for update' = '',
): Promise<Person | undefined> {
  // The person alone, and before the token is looked at: two who each held a token of their own
  // would wait for each other when the first one deletes them all.
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

/** All of one purpose at once: the others were asked for before this one was used. */
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

export async function deleteOldTokens(db: Queryable, nowMs: number): Promise<void> {
  await db.query('delete from one_time_tokens where expires_at < $1', [sqlTime(nowMs)]);
}
