import type { Pool } from '../../db/connections/pool.ts';
import type { Log } from '../../lib/log.ts';
import { firstWorkspace } from '../workspace-store.ts';
import { listMemberships } from './member-store.ts';
import type { Person } from './person-store.ts';
import type { SendSystemEmail, SystemEmail } from './system-emails.ts';

/**
 * Sends emails about an account: password resets, changes of the sign-in address, and deletions. They are sent
 * after the response, so that neither its content nor its timing reveals whether an address has an
 * account.
 */
export class AccountMailer {
  readonly #parts: { pool: Pool; log: Log; sendSystemEmail: SendSystemEmail };
  readonly #pending = new Set<Promise<void>>();

  constructor(parts: { pool: Pool; log: Log; sendSystemEmail: SendSystemEmail }) {
    this.#parts = parts;
  }

  inBackground(task: string, work: () => Promise<void>): void {
    const working = work()
      .catch((error: unknown) =>
        this.#parts.log.error({ err: error, task }, 'account email failed'),
      )
      .finally(() => this.#pending.delete(working));
    this.#pending.add(working);
  }

  async send(person: Pick<Person, 'id'>, email: SystemEmail): Promise<void> {
    const { log, sendSystemEmail } = this.#parts;
    if (await sendSystemEmail(email, await this.#workspacesFor(person))) return;
    // The only secrets that are ever logged: without a sending domain the operator is the only way to
    // reach the person.
    log.warn(
      { email: email.to.email, subject: email.subject, link: email.variables.link },
      'no domain can send this account email; pass the link on yourself',
    );
  }

  /** Resolves when every email has been submitted. */
  async settled(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }

  /** The operator's own workspace is tried first, because the operator runs the accounts. */
  async #workspacesFor(person: Pick<Person, 'id'>): Promise<string[]> {
    const { pool } = this.#parts;
    const first = await firstWorkspace(pool);
    const own = await listMemberships(pool, person.id);
    return [...(first ? [first.id] : []), ...own.map((one) => one.workspaceId)];
  }
}
