import { readBaseUrl } from '../accounts/moved-workspace-store.ts';
import { claimAccount } from '../accounts/people/claim-account.ts';
import { findPeopleByEmail, personExists } from '../accounts/workspace-move-store.ts';
import type { PoolClient, Queryable } from '../db/connections/pool.ts';
import { describeTable, insertRows, readRows, type TextRow } from '../db/statements/copy-rows.ts';
import { uuidv7 } from '../lib/ids.ts';
import type { Clock } from '../lib/time/clock.ts';
import { tablesThatMove } from './moved-tables.ts';

/**
 * Copies the members of a workspace that moves, in the transaction that activates it at the target.
 * Members with an account at the target keep it; the others get theirs copied, with password and second
 * factor. Returns how many rows of each table were inserted.
 */
export async function copyMembers(
  from: PoolClient,
  to: PoolClient,
  workspaceId: string,
  clock: Clock,
): Promise<Record<string, number>> {
  const people = await describeTable(from, 'people');
  const found = await readRows(from, people, `t.id in (${MEMBERS})`, [workspaceId]);
  const known = await findPeopleByEmail(
    to,
    found.map((person) => String(person.email_key)),
  );
  const ids = new Map<string, string>();
  for (const person of found) {
    const id = String(person.id);
    const same = known.get(String(person.email_key));
    const isFree = same === undefined && !(await personExists(to, id));
    ids.set(id, same ?? (isFree ? id : uuidv7(clock.now())));
    // Anyone could have created an account whose address is not verified, and must not become a member.
    if (same !== undefined && person.email_verified_at !== null) {
      await claimAccount(to, same, clock.now());
    }
  }
  const added = found.filter((person) => !known.has(String(person.email_key)));
  await insertRows(
    to,
    people,
    // Who may manage the target is decided there.
    added.map((person) => ({
      ...person,
      id: ids.get(String(person.id)) ?? null,
      is_instance_owner: 'false',
    })),
  );
  const withIds = (rows: readonly TextRow[]): TextRow[] =>
    rows.flatMap((row) => {
      const personId = ids.get(String(row.person_id));
      return personId === undefined ? [] : [{ ...row, person_id: personId }];
    });
  const inserted: Record<string, number> = {};
  for (const name of tablesThatMove('person')) {
    const table = await describeTable(from, name);
    const rows = await readRows(from, table, 't.workspace_id = $1', [workspaceId]);
    inserted[name] = await insertRows(to, table, withIds(rows));
  }
  if (await haveSameHost(from, to)) {
    const passkeys = await describeTable(from, 'passkeys');
    const isAdded = new Set(added.map((person) => String(person.id)));
    const rows = await readRows(from, passkeys, `t.person_id in (${MEMBERS})`, [workspaceId]);
    const ofAdded = rows.filter((row) => isAdded.has(String(row.person_id)));
    await insertRows(to, passkeys, withIds(ofAdded), { skipExisting: true });
  }
  return inserted;
}

const MEMBERS = 'select person_id from memberships where workspace_id = $1';

/** Browsers use a passkey at the host name for which it was created, and nowhere else. */
async function haveSameHost(from: Queryable, to: Queryable): Promise<boolean> {
  const [here, there] = [await readBaseUrl(from), await readBaseUrl(to)];
  if (here === undefined || there === undefined) return false;
  return new URL(here).hostname === new URL(there).hostname;
}
