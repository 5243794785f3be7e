import type { Queryable } from '../../../db/connections/pool.ts';
import { sqlTime } from '../../../db/schema/row-types.ts';
import type { PasskeysRow } from '../../../db/schema/tables.ts';
import { selectList } from '../../../db/statements/select-list.ts';
import { PERSON_COLUMNS, type Person } from '../person-store.ts';

/** A credential with which a person can sign in without a password (WebAuthn). */
export interface Passkey {
  personId: string;
  id: string;
  credentialId: Buffer;
  publicKey: Buffer;
  /** How often the authenticator has signed, if it counts. */
  counter: number;
  transports: string[];
  name: string;
  isBackedUp: boolean;
  createdAtMs: number;
  usedAtMs: number | null;
}

const COLUMNS = selectList<PasskeysRow, Passkey>(
  {
    personId: 'person_id',
    id: 'id',
    credentialId: 'credential_id',
    publicKey: 'public_key',
    counter: 'counter',
    transports: 'transports',
    name: 'name',
    isBackedUp: 'is_backed_up',
    createdAtMs: 'created_at',
    usedAtMs: 'last_used_at',
  },
  'k',
);

/** Returns false if the credential is registered already. */
export async function insertPasskey(db: Queryable, passkey: Passkey): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into passkeys (person_id, id, credential_id, public_key, counter, transports, name,
       is_backed_up, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (credential_id) do nothing`,
    [
      passkey.personId,
      passkey.id,
      passkey.credentialId,
      passkey.publicKey,
      passkey.counter,
      passkey.transports,
      passkey.name,
      passkey.isBackedUp,
      sqlTime(passkey.createdAtMs),
    ],
  );
  return rowCount === 1;
}

/** Newest first. */
export async function listPasskeys(
  db: Queryable,
  personId: string,
  page: { before?: string; limit: number },
): Promise<Passkey[]> {
  const { rows } = await db.query<Passkey>(
    `select ${COLUMNS} from passkeys k
     where k.person_id = $1 and ($2::uuid is null or k.id < $2) order by k.id desc limit $3`,
    [personId, page.before ?? null, page.limit],
  );
  return rows;
}

export async function findPasskey(
  db: Queryable,
  credentialId: Buffer,
): Promise<{ passkey: Passkey; person: Person } | undefined> {
  const { rows } = await db.query<Passkey>(
    `select ${COLUMNS} from passkeys k where k.credential_id = $1`,
    [credentialId],
  );
  const passkey = rows[0];
  if (!passkey) return undefined;
  const { rows: people } = await db.query<Person>(
    `select ${PERSON_COLUMNS} from people p where p.id = $1`,
    [passkey.personId],
  );
  return people[0] && { passkey, person: people[0] };
}

/**
 * Returns false if the credential was removed, or if its counter did not grow: then a copy of it was
 * used. Authenticators that do not count always send zero.
 */
export async function recordUse(
  db: Queryable,
  { personId, id }: Passkey,
  use: { counter: number; isBackedUp: boolean; atMs: number },
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update passkeys set counter = $3, is_backed_up = $4, last_used_at = $5
     where person_id = $1 and id = $2 and (counter < $3::bigint or (counter = 0 and $3::bigint = 0))`,
    [personId, id, use.counter, use.isBackedUp, sqlTime(use.atMs)],
  );
  return rowCount === 1;
}

export async function renamePasskey(
  db: Queryable,
  personId: string,
  id: string,
  name: string,
): Promise<Passkey | undefined> {
  const { rows } = await db.query<Passkey>(
    `update passkeys k set name = $3 where k.person_id = $1 and k.id = $2 returning ${COLUMNS}`,
    [personId, id, name],
  );
  return rows[0];
}

export async function deletePasskey(db: Queryable, personId: string, id: string): Promise<boolean> {
  const { rowCount } = await db.query('delete from passkeys where person_id = $1 and id = $2', [
    personId,
    id,
  ]);
  return rowCount === 1;
}

/** Returns how many there were. */
export async function deletePasskeys(db: Queryable, personId: string): Promise<number> {
  const { rowCount } = await db.query('delete from passkeys where person_id = $1', [personId]);
  return rowCount ?? 0;
}
