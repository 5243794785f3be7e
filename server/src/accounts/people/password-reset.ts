import { inTransaction, type Pool } from '../../db/pool.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import { firstWorkspace } from '../workspace-store.ts';
import type { AttemptLimits } from './attempt-limits.ts';
import { type Post, resetLetter } from './system-emails.ts';
import { listMemberships } from './member-store.ts';
import type { Passwords } from './passwords.ts';
import { findPersonByEmail, type Person, updatePassword } from './person-store.ts';
import { checkPassword } from './person-input.ts';
import { hashSecret, newSecret } from './secret-token.ts';
import { endSessionsOf } from './session-store.ts';
import type { Client } from './sessions.ts';
import { emailKeyOf } from './sign-in.ts';
import { clientNetwork } from '../../lib/net/client-network.ts';
import { deleteTokens, findPersonOfToken, insertToken } from './one-time-token-store.ts';

/**
 * A forgotten password: a link goes to the person's own mailbox, works once and for an hour, and
 * using it ends every session. Who asks is told nothing, neither by the answer nor by the time it
 * takes: the letter is written after the answer. It carries no session, so that a second factor is
 * still asked for.
 */

const LINK_MS = 60 * 60 * 1000;

interface ResetParts {
  pool: Pool;
  clock: Clock;
  log: Log;
  limits: AttemptLimits;
  passwords: Passwords;
  post: Post;
  appUrl: string;
}

export class PasswordResets {
  readonly #parts: ResetParts;
  readonly #writing = new Set<Promise<void>>();

  constructor(parts: ResetParts) {
    this.#parts = parts;
  }

  /** Returns before anything is known about the address. */
  async request(email: string, client: Client): Promise<void> {
    const { limits, log } = this.#parts;
    await limits.count([{ kind: 'source', of: clientNetwork(client.ip) }]);
    const writing = this.#write(emailKeyOf(email))
      .catch((error: unknown) => log.error({ err: error }, 'a password reset could not be sent'))
      .finally(() => this.#writing.delete(writing));
    this.#writing.add(writing);
  }

  complete(token: string, password: string, client: Client): Promise<void> {
    return this.#parts.limits.countedFor(client.ip, () => this.#complete(token, password));
  }

  async #complete(token: string, password: string): Promise<void> {
    const { pool, clock, passwords } = this.#parts;
    const hash = hashSecret(token);
    const asking = await findPersonOfToken(pool, hash, 'password_reset', clock.now());
    if (!asking) throw linkOver();
    checkPassword(password, asking, '/password');
    const passwordHash = await passwords.hash(password);
    await inTransaction(pool, async (db) => {
      const nowMs = clock.now();
      const person = await findPersonOfToken(db, hash, 'password_reset', nowMs, 'for update');
      if (!person) throw linkOver();
      await updatePassword(db, person.id, passwordHash);
      await deleteTokens(db, person.id, 'password_reset');
      await deleteTokens(db, person.id, 'second_factor');
      await endSessionsOf(db, person.id, nowMs);
    });
  }

  /** Resolves when every letter that was asked for is on its way. */
  async settled(): Promise<void> {
    while (this.#writing.size > 0) await Promise.all(this.#writing);
  }

  async #write(emailKey: string): Promise<void> {
    const { pool, clock, limits, log, post, appUrl } = this.#parts;
    if (!(await limits.allows({ kind: 'reset', of: emailKey }))) return;
    const person = await findPersonByEmail(pool, emailKey);
    if (!person) return;
    const link = await newResetLink({ pool, clock, appUrl }, person.id);
    if (await post(resetLetter(person, link), await this.#workspacesFor(person))) return;
    // The one secret that is ever logged: without a domain the operator is the only way to the person.
    log.warn(
      { email: person.email, link },
      'a password reset was asked for and no domain can send it: hand the link over yourself',
    );
  }

  /** The operator's own comes first: that is who answers for the accounts. */
  async #workspacesFor(person: Person): Promise<string[]> {
    const { pool } = this.#parts;
    const first = await firstWorkspace(pool);
    const own = await listMemberships(pool, person.id);
    return [...(first ? [first.id] : []), ...own.map((one) => one.workspaceId)];
  }
}

/** Whoever has it sets the password of the person. */
export async function newResetLink(
  { pool, clock, appUrl }: Pick<ResetParts, 'pool' | 'clock' | 'appUrl'>,
  personId: string,
): Promise<string> {
  const token = newSecret();
  await insertToken(pool, {
    hash: hashSecret(token),
    personId,
    purpose: 'password_reset',
    endsAtMs: clock.now() + LINK_MS,
  });
  return `${appUrl}/app/reset-password#${token}`;
}

function linkOver(): RefusedError {
  return new RefusedError(
    'invalid_link',
    'This link was used, has run out, or never was. Ask for a new one.',
  );
}
