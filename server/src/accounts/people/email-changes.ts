import { inTransaction, type Queryable } from '../../db/connections/pool.ts';
import { uuidv7 } from '../../lib/ids.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { type Mailbox, parseMailbox } from '../../mail/address.ts';
import type { AccountMailer } from './account-mailer.ts';
import { removeCredentials } from './claim-account.ts';
import {
  type ConfirmedChange,
  claimNotice,
  confirmChange,
  deleteChangesSince,
  deleteOldChanges,
  deletePendingChanges,
  findConfirmedChange,
  findPendingChange,
  insertChange,
  markNotified,
} from './email-change-store.ts';
import { deleteTokens } from './one-time-token-store.ts';
import { deletePasskeys } from './passkeys/passkey-store.ts';
import type { Passwords } from './passwords.ts';
import { checkPassword, validationFailed } from './person-input.ts';
import {
  findPerson,
  findPersonByEmail,
  type Person,
  updateEmail,
  updatePassword,
} from './person-store.ts';
import {
  type Reauthentication,
  type ReauthenticationParts,
  reauthenticate,
} from './reauthenticate.ts';
import { hashSecret, newSecret } from './secret-token.ts';
import { endSessionsOfPerson } from './session-store.ts';
import type { ClientInfo, NewSession, Sessions, SignedInPerson } from './sessions.ts';
import {
  addressTakenEmail,
  confirmEmailChangeEmail,
  emailChangedEmail,
  verifyEmailEmail,
} from './system-emails.ts';

/**
 * Changes of the sign-in address. A link to the new address confirms the change, in a session of the
 * same person: someone who receives the email because of a typing error cannot take the account. The
 * previous address then gets a link that undoes the change for a week. Undoing sets a new password and
 * removes all passkeys, because anyone who made an unwanted change knows the old password and may have
 * added one; if the previous address was not verified, the second factor too. The requester does not learn
 * whether the new address has an account: its owner does, by email. A user whose address is not verified
 * can request a link to this address itself, which verifies it.
 */

const HOUR_MS = 60 * 60 * 1000;
const CONFIRM_MS = HOUR_MS;
const UNDO_MS = 7 * 24 * HOUR_MS;
const NOTICE_RETRY_MS = 5 * 60 * 1000;

interface EmailChangeParts extends ReauthenticationParts {
  clock: Clock;
  passwords: Passwords;
  sessions: Sessions;
  mailer: AccountMailer;
  appUrl: string;
}

export class EmailChanges {
  readonly #parts: EmailChangeParts;

  constructor(parts: EmailChangeParts) {
    this.#parts = parts;
  }

  /** Returns before the address is looked up. */
  async request(
    { person }: SignedInPerson,
    wanted: Reauthentication & { email: string },
    client: ClientInfo,
  ): Promise<void> {
    const { limits, mailer } = this.#parts;
    const parsed = parseMailbox(wanted.email);
    if (!parsed.ok) throw invalidEmail('invalid_email', parsed.detail);
    if (parsed.mailbox.email === person.email && person.emailVerifiedAtMs !== null) {
      throw invalidEmail('unchanged', 'This is your current address.');
    }
    await reauthenticate(this.#parts, person, wanted, client);
    await limits.count([{ kind: 'email_change', key: person.id }]);
    mailer.inBackground('email change', () => this.#sendLink(person, parsed.mailbox));
  }

  async #sendLink(person: Person, { email, key: emailKey }: Mailbox): Promise<void> {
    const { pool, clock, limits, mailer, appUrl } = this.#parts;
    if (!(await limits.allows({ kind: 'email_change', key: emailKey }))) return;
    const holder = await findPersonByEmail(pool, emailKey);
    if (holder && holder.id !== person.id) {
      await mailer.send(holder, addressTakenEmail(holder, `${appUrl}/app/sign-in`));
      return;
    }
    const token = newSecret();
    const nowMs = clock.now();
    const change = { id: uuidv7(nowMs), personId: person.id, email, emailKey };
    await inTransaction(pool, (db) =>
      insertChange(db, change, hashSecret(token), nowMs + CONFIRM_MS),
    );
    const link = `${appUrl}/app/confirm-email#${token}`;
    const isChange = email !== person.email;
    const confirmation = isChange
      ? confirmEmailChangeEmail(email, person, link)
      : verifyEmailEmail(person, link);
    await mailer.send(person, confirmation);
  }

  /** Ends all other sessions and continues this one under a new secret. */
  async confirm(
    { person: { id } }: SignedInPerson,
    token: string,
    client: ClientInfo,
    presented: string | undefined,
  ): Promise<NewSession> {
    const { limits, mailer } = this.#parts;
    const begun = await limits.limitBySource(client.ip, () =>
      this.#inTransaction((db) => this.#confirm(db, id, token, client, presented)),
    );
    mailer.inBackground('email change notice', () => this.sendNotices());
    return begun;
  }

  async #confirm(
    db: Queryable,
    personId: string,
    token: string,
    client: ClientInfo,
    presented: string | undefined,
  ): Promise<NewSession> {
    const nowMs = this.#parts.clock.now();
    const person = await findPerson(db, personId, 'for update');
    const change = person && (await findPendingChange(db, personId, hashSecret(token), nowMs));
    if (!change) throw invalidLink('Request the change again in the settings of your account.');
    const { email, emailKey } = change;
    const endsAtMs = nowMs + UNDO_MS;
    if (email === person.email) await deletePendingChanges(db, personId);
    else await confirmChange(db, change.id, person, hashSecret(newSecret()), { nowMs, endsAtMs });
    await this.#setEmail(db, personId, { email, emailKey }, nowMs);
    return this.#parts.sessions.start({ ...person, email, emailKey }, client, presented, db);
  }

  /** Notifies previous addresses of changes. Runs after each change, and periodically after a crash. */
  async sendNotices(): Promise<void> {
    const { pool, clock, mailer, appUrl } = this.#parts;
    for (;;) {
      const token = newSecret();
      const hash = hashSecret(token);
      const nowMs = clock.now();
      const retryAtMs = nowMs + NOTICE_RETRY_MS;
      const change = await claimNotice(pool, hash, { nowMs, retryAtMs });
      if (!change) return;
      const person = await findPerson(pool, change.personId);
      if (!person) continue;
      const link = `${appUrl}/app/undo-email-change#${token}`;
      const email = emailChangedEmail(change.previousEmail, person, change.email, link);
      await mailer.send(person, email);
      await markNotified(pool, hash);
    }
  }

  /** Returns the id of the person. */
  undo(token: string, password: string, client: ClientInfo): Promise<string> {
    return this.#parts.limits.limitBySource(client.ip, () => this.#undo(token, password));
  }

  async #undo(token: string, password: string): Promise<string> {
    const { pool, clock, passwords } = this.#parts;
    const find = (db: Queryable): Promise<ConfirmedChange | undefined> =>
      findConfirmedChange(db, hashSecret(token), clock.now());
    const found = await find(pool);
    const asking = found && (await findPerson(pool, found.personId));
    if (!asking) throw invalidLink('Ask the operator of this server for help.');
    checkPassword(password, { email: found.previousEmail, name: asking.name }, '/password');
    const passwordHash = await passwords.hash(password);
    await this.#inTransaction(async (db) => {
      const person = await findPerson(db, found.personId, 'for update');
      const change = person && (await find(db));
      if (!change) throw invalidLink('Ask the operator of this server for help.');
      const { personId, previousEmail: email, previousEmailKey: emailKey } = change;
      const nowMs = clock.now();
      await deleteChangesSince(db, change);
      if (change.previousEmailVerifiedAtMs === null) await removeCredentials(db, person, nowMs);
      await updatePassword(db, personId, passwordHash);
      await deletePasskeys(db, personId);
      await this.#setEmail(db, personId, { email, emailKey }, nowMs);
    });
    return found.personId;
  }

  async sweep(): Promise<void> {
    const { pool, clock } = this.#parts;
    await this.sendNotices();
    await deleteOldChanges(pool, clock.now());
  }

  /** A link has verified the address. Links that were sent to the other one, and all sessions, end. */
  async #setEmail(
    db: Queryable,
    personId: string,
    address: Pick<Person, 'email' | 'emailKey'>,
    nowMs: number,
  ): Promise<void> {
    await updateEmail(db, personId, address, nowMs);
    await deleteTokens(db, personId, 'password_reset');
    await deleteTokens(db, personId, 'second_factor');
    await deleteTokens(db, personId, 'passkey');
    await endSessionsOfPerson(db, personId, nowMs);
  }

  async #inTransaction<T>(work: (db: Queryable) => Promise<T>): Promise<T> {
    try {
      return await inTransaction(this.#parts.pool, work);
    } catch (error) {
      if ((error as { constraint?: unknown }).constraint !== 'people_email_key_key') throw error;
      throw new RefusedError('conflict', 'This address now belongs to another account.');
    }
  }
}

function invalidEmail(code: string, detail: string): RefusedError {
  return validationFailed([{ pointer: '/email', code, detail }]);
}

function invalidLink(fix: string): RefusedError {
  return new RefusedError(
    'invalid_link',
    'This link was used, has expired, belongs to another account, or never existed.',
    { fix },
  );
}
