import { inTransaction, type Queryable } from '../../db/connections/pool.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { AccountMailer } from './account-mailer.ts';
import { deleteInvitationsTo, revokeOpenByInviter } from './invitation-store.ts';
import { deleteMembership, listMemberships, listSolelyOwned, lockTeam } from './member-store.ts';
import {
  claimDueDeletionEmails,
  deletePerson,
  findPerson,
  finishDeletionEmail,
  listDuePeople,
  lockPeople,
  otherPersonStays,
  type Person,
  setDeleteAt,
} from './person-store.ts';
import {
  type Reauthentication,
  type ReauthenticationParts,
  reauthenticate,
} from './reauthenticate.ts';
import { endSessionsOfPerson } from './session-store.ts';
import type { ClientInfo, SignedInPerson } from './sessions.ts';
import { accountDeletionEmail } from './system-emails.ts';

/**
 * Deletes a person's own account. It is signed out at once and deleted some days later, with everything
 * that is only theirs: sessions, links, memberships, and invitations to their address. Until then its
 * owner can sign in and keep it. Every workspace keeps an owner who stays: the only one must first make
 * someone else an owner, or delete the workspace.
 */
export class AccountDeletion {
  readonly #parts: AccountDeletionParts;

  constructor(parts: AccountDeletionParts) {
    this.#parts = parts;
  }

  /** Returns when the account will be deleted. */
  async schedule(
    { person }: SignedInPerson,
    given: Reauthentication,
    client: ClientInfo,
  ): Promise<number> {
    const { pool, clock, deletionMs } = this.#parts;
    await reauthenticate(this.#parts, person, given, client);
    const nowMs = clock.now();
    const deleteAtMs = nowMs + deletionMs;
    await inTransaction(pool, async (db) => {
      await lockWithTeams(db, person.id);
      const problem = await problemWithout(db, person);
      if (problem) throw problem;
      const emailDueAtMs = nowMs + EMAIL_RETRY_MS;
      await setDeleteAt(db, person.id, { deleteAtMs, emailDueAtMs });
      await endSessionsOfPerson(db, person.id, nowMs);
    });
    this.#sendEmail(person, deleteAtMs);
    return deleteAtMs;
  }

  /**
   * Sends the emails that a crash or an unavailable database prevented. The owner must learn of the
   * deletion while the account can be restored. Runs periodically on every node.
   */
  async sendDueEmails(): Promise<void> {
    const { pool, clock } = this.#parts;
    const nowMs = clock.now();
    for (const person of await claimDueDeletionEmails(pool, nowMs, nowMs + EMAIL_RETRY_MS)) {
      if (person.deleteAtMs !== null) this.#sendEmail(person, person.deleteAtMs);
    }
  }

  /** Keeps the account. */
  async cancel({ person }: SignedInPerson): Promise<void> {
    await setDeleteAt(this.#parts.pool, person.id, null);
  }

  /** Deletes the accounts that were not kept. Runs periodically on every node. */
  async deleteDue(): Promise<void> {
    const { pool, clock } = this.#parts;
    for (const id of await listDuePeople(pool, clock.now())) {
      await inTransaction(pool, (db) => this.#delete(db, id));
    }
  }

  #sendEmail(person: Person, deleteAtMs: number): void {
    const { pool, mailer, appUrl } = this.#parts;
    const email = accountDeletionEmail(person, deleteAtMs, `${appUrl}/app/sign-in`);
    mailer.inBackground('account deletion', async () => {
      await mailer.send(person, email);
      await finishDeletionEmail(pool, person.id, deleteAtMs);
    });
  }

  async #delete(db: Queryable, id: string): Promise<void> {
    const nowMs = this.#parts.clock.now();
    const workspaceIds = await lockWithTeams(db, id);
    const person = await findPerson(db, id, 'for update');
    const isDue = person && person.deleteAtMs !== null && person.deleteAtMs <= nowMs;
    // The only owner of a workspace that was created or restored meanwhile is kept until it has another.
    if (!isDue || (await problemWithout(db, person))) return;
    for (const workspaceId of workspaceIds) {
      await revokeOpenByInviter(db, workspaceId, id, nowMs);
      await deleteMembership(db, workspaceId, id);
    }
    await deleteInvitationsTo(db, person.emailKey);
    await endSessionsOfPerson(db, id, nowMs);
    await deletePerson(db, id);
  }
}

/** Longer than it takes to submit an email. */
const EMAIL_RETRY_MS = 60_000;

interface AccountDeletionParts extends ReauthenticationParts {
  clock: Clock;
  mailer: AccountMailer;
  deletionMs: number;
  appUrl: string;
}

/** Until the transaction ends, the person's teams stay as they are, and so do all accounts. */
async function lockWithTeams(db: Queryable, personId: string): Promise<string[]> {
  const memberships = await listMemberships(db, personId);
  const ids = memberships.map(({ workspaceId }) => workspaceId).sort();
  for (const id of ids) await lockTeam(db, id);
  await lockPeople(db);
  return ids;
}

/** Why the server needs this account. */
async function problemWithout(
  db: Queryable,
  { id }: Pick<Person, 'id'>,
): Promise<RefusedError | undefined> {
  const owned = await listSolelyOwned(db, id);
  if (owned.length > 0) {
    const detail = `You are the only owner of ${owned.map((name) => `"${name}"`).join(', ')}.`;
    const fix = 'Make another member an owner, or delete the workspace first.';
    return new RefusedError('last_owner', detail, { fix });
  }
  if (await otherPersonStays(db, id)) return undefined;
  return new RefusedError('conflict', 'The last account of a server cannot be deleted.');
}
