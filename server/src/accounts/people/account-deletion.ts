import { inTransaction, type Queryable } from '../../db/pool.ts';
import type { Clock } from '../../lib/clock.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import { deleteInvitationsTo, revokeOpenByInviter } from './invitation-store.ts';
import { deleteMembership, listMemberships, listSolelyOwned, lockTeam } from './member-store.ts';
import { anyOtherPerson, deletePerson, lockPeople } from './person-store.ts';
import {
  type Reauthentication,
  type ReauthenticationParts,
  reauthenticate,
} from './reauthenticate.ts';
import { endSessionsOfPerson } from './session-store.ts';
import type { ClientInfo, SignedInPerson } from './sessions.ts';

/**
 * Deletes a person's own account, at once and with everything that is only theirs: sessions, links,
 * memberships, and invitations to their address. Every workspace keeps an owner: the only owner must
 * first make someone else an owner, or delete the workspace. There is no undo: an account has no data
 * of its own, and its owner can be invited again.
 */
export class AccountDeletion {
  readonly #parts: ReauthenticationParts & { clock: Clock };

  constructor(parts: ReauthenticationParts & { clock: Clock }) {
    this.#parts = parts;
  }

  async delete(
    { person }: SignedInPerson,
    given: Reauthentication,
    client: ClientInfo,
  ): Promise<void> {
    await reauthenticate(this.#parts, person, given, client);
    await inTransaction(this.#parts.pool, (db) => this.#delete(db, person));
  }

  async #delete(db: Queryable, person: SignedInPerson['person']): Promise<void> {
    const nowMs = this.#parts.clock.now();
    const ids = (await listMemberships(db, person.id)).map(({ workspaceId }) => workspaceId).sort();
    for (const id of ids) await lockTeam(db, id);
    const owned = await listSolelyOwned(db, person.id);
    if (owned.length > 0) {
      const detail = `You are the only owner of ${owned.map((name) => `"${name}"`).join(', ')}.`;
      const fix = 'Make another member an owner, or delete the workspace first.';
      throw new RefusedError('last_owner', detail, { fix });
    }
    await lockPeople(db);
    if (!(await anyOtherPerson(db, person.id))) {
      throw new RefusedError('conflict', 'The last account of a server cannot be deleted.');
    }
    for (const id of ids) {
      await revokeOpenByInviter(db, id, person.id, nowMs);
      await deleteMembership(db, id, person.id);
    }
    await deleteInvitationsTo(db, person.emailKey);
    await endSessionsOfPerson(db, person.id, nowMs);
    await deletePerson(db, person.id);
  }
}
