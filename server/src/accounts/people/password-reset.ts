import { inTransaction, type Pool } from '../../db/pool.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { clientNetwork } from '../../lib/net/client-network.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import { firstWorkspace } from '../workspace-store.ts';
import type { AttemptLimits } from './attempt-limits.ts';
import { listMemberships } from './member-store.ts';
import { deleteTokens, findPersonOfToken, insertToken } from './one-time-token-store.ts';
import type { Passwords } from './passwords.ts';
import { checkPassword } from './person-input.ts';
import { findPersonByEmail, type Person, updatePassword } from './person-store.ts';
import { hashSecret, newSecret } from './secret-token.ts';
import { endSessionsOfPerson } from './session-store.ts';
import type { ClientInfo } from './sessions.ts';
import { emailKeyOf } from './sign-in.ts';
import { passwordResetEmail, type SendSystemEmail } from './system-emails.ts';

/**
 * Password resets. A link is sent to the person's own address, works once and for an hour, and
 * using it ends every session. The requester learns nothing, neither from the response nor from its
 * timing: the email is sent after the response. The link does not sign in, so a second factor is
 * still required.
 */

const LINK_MS = 60 * 60 * 1000;

interface ResetParts {
  pool: Pool;
  clock: Clock;
  log: Log;
  limits: AttemptLimits;
  passwords: Passwords;
  sendSystemEmail: SendSystemEmail;
  appUrl: string;
}

export class PasswordResets {
  readonly #parts: ResetParts;
  readonly #pending = new Set<Promise<void>>();

  constructor(parts: ResetParts) {
    this.#parts = parts;
  }

  /** Returns before the address is looked up. */
  async request(email: string, client: ClientInfo): Promise<void> {
    const { limits, log } = this.#parts;
    await limits.count([{ kind: 'source', key: clientNetwork(client.ip) }]);
    const sending = this.#sendResetEmail(emailKeyOf(email))
      .catch((error: unknown) => log.error({ err: error }, 'could not send password reset email'))
      .finally(() => this.#pending.delete(sending));
    this.#pending.add(sending);
  }

  complete(token: string, password: string, client: ClientInfo): Promise<void> {
    return this.#parts.limits.limitBySource(client.ip, () => this.#complete(token, password));
  }

  async #complete(token: string, password: string): Promise<void> {
    const { pool, clock, passwords } = this.#parts;
    const hash = hashSecret(token);
    const asking = await findPersonOfToken(pool, hash, 'password_reset', clock.now());
    if (!asking) throw invalidLink();
    checkPassword(password, asking, '/password');
    const passwordHash = await passwords.hash(password);
    await inTransaction(pool, async (db) => {
      const nowMs = clock.now();
      const person = await findPersonOfToken(db, hash, 'password_reset', nowMs, 'for update');
      if (!person) throw invalidLink();
      await updatePassword(db, person.id, passwordHash);
      await deleteTokens(db, person.id, 'password_reset');
      await deleteTokens(db, person.id, 'second_factor');
      await endSessionsOfPerson(db, person.id, nowMs);
    });
  }

  /** Resolves when every requested email has been submitted. */
  async settled(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }

  async #sendResetEmail(emailKey: string): Promise<void> {
    const { pool, clock, limits, log, sendSystemEmail, appUrl } = this.#parts;
    if (!(await limits.allows({ kind: 'reset', key: emailKey }))) return;
    const person = await findPersonByEmail(pool, emailKey);
    if (!person) return;
    const link = await newResetLink({ pool, clock, appUrl }, person.id);
    if (await sendSystemEmail(passwordResetEmail(person, link), await this.#workspacesFor(person)))
      return;
    // The only secret that is ever logged: without a sending domain the operator is the only way to
    // reach the person.
    log.warn(
      { email: person.email, link },
      'no domain can send the password reset email; pass the link on yourself',
    );
  }

  /** The operator's own workspace is tried first, because the operator runs the accounts. */
  async #workspacesFor(person: Person): Promise<string[]> {
    const { pool } = this.#parts;
    const first = await firstWorkspace(pool);
    const own = await listMemberships(pool, person.id);
    return [...(first ? [first.id] : []), ...own.map((one) => one.workspaceId)];
  }
}

/** Anyone who has the link can set the person's password. */
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

function invalidLink(): RefusedError {
  return new RefusedError(
    'invalid_link',
    'This link was used, has expired, or never existed. Request a new one.',
  );
}
