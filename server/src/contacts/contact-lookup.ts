import type { Mode } from '../accounts/tenant-scope.ts';
import type { Pool } from '../db/connections/pool.ts';
import { RefusedError } from '../lib/refused-error.ts';
import { GroupCommit, GroupCommitFullError } from '../lib/scheduling/group-commit.ts';
import type { MailboxContact } from './contact-source.ts';
import { type ContactKey, findMailboxContacts } from './contact-store.ts';

/**
 * Finds the contact of a recipient while a message is prepared. Concurrent sends share one
 * statement. Nothing is cached: a change made a moment ago is always seen.
 */
export class ContactLookup {
  readonly #groups: GroupCommit<ContactKey, MailboxContact | undefined>;

  constructor(parts: { pool: Pool }) {
    this.#groups = new GroupCommit({
      commit: (refs) => findMailboxContacts(parts.pool, refs),
      // A failed read is not an error of one item: reading one by one would only multiply the
      // failures.
      isItemError: () => false,
      groupItemsMax: 256,
      groupBytesMax: Number.POSITIVE_INFINITY,
      groupsInFlightMax: 2,
      waitingItemsMax: WAITING_MAX,
      waitingBytesMax: Number.POSITIVE_INFINITY,
    });
  }

  contactFor(
    workspaceId: string,
    mode: Mode,
    emailKey: string,
  ): Promise<MailboxContact | undefined> {
    try {
      return this.#groups.add({ workspaceId, mode, emailKey }, 0);
    } catch (error) {
      if (!(error instanceof GroupCommitFullError)) throw error;
      throw new RefusedError('overloaded', 'Too many requests are waiting. Nothing was accepted.');
    }
  }
}

const WAITING_MAX = 20_000;
