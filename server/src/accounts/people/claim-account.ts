import type { Queryable } from '../../db/connections/pool.ts';
import type { AccountMailer } from './account-mailer.ts';
import { deletePendingChanges } from './email-change-store.ts';
import { deleteAllTokens } from './one-time-token-store.ts';
import { deletePasskeys } from './passkeys/passkey-store.ts';
import {
  findPerson,
  type Person,
  setEmailVerified,
  updatePassword,
  updateSecondFactor,
} from './person-store.ts';
import { NO_SECOND_FACTOR } from './second-factor.ts';
import { endSessionsOfPerson } from './session-store.ts';
import { credentialsRemovedEmail } from './system-emails.ts';

/** A way to sign in that was removed, as the person reads it. */
export type Credential = 'password' | 'passkeys' | 'two-factor authentication';

/**
 * Verifies the address of an account for someone who has proved to receive its mail without signing in.
 * If it is the first proof, someone else may have created the account and kept a way to sign in: all of
 * them are removed, with sessions and pending links. Requires a transaction. Returns what was removed.
 */
export async function claimAccount(
  db: Queryable,
  personId: string,
  nowMs: number,
): Promise<Credential[]> {
  const person = await findPerson(db, personId, 'for update');
  if (!person || person.emailVerifiedAtMs !== null) return [];
  await setEmailVerified(db, personId, nowMs);
  return removeCredentials(db, person, nowMs);
}

/**
 * Of a person whose row is locked: what is being added at the same time must not remain. The person must
 * set a new password, or sign in with an identity provider.
 */
export async function removeCredentials(
  db: Queryable,
  person: Person,
  nowMs: number,
): Promise<Credential[]> {
  const { id } = person;
  await updatePassword(db, id, null);
  await updateSecondFactor(db, { ...NO_SECOND_FACTOR, id });
  const passkeys = await deletePasskeys(db, id);
  await deleteAllTokens(db, id);
  await deletePendingChanges(db, id);
  await endSessionsOfPerson(db, id, nowMs);
  const removed: (Credential | false)[] = [
    person.passwordHash !== null && 'password',
    passkeys > 0 && 'passkeys',
    person.totpConfirmedAtMs !== null && 'two-factor authentication',
  ];
  return removed.filter((one) => one !== false);
}

/** Tells the person what they have to set up again, if it was theirs. */
export function reportRemoved(
  { mailer, appUrl }: { mailer: AccountMailer; appUrl: string },
  person: Person,
  removed: readonly Credential[],
): void {
  if (removed.length === 0) return;
  const link = `${appUrl}/app/settings`;
  mailer.inBackground('removed credentials', () =>
    mailer.send(person, credentialsRemovedEmail(person, removed, link)),
  );
}
