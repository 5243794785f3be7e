import { inTransaction, type Pool } from '../../db/connections/pool.ts';
import { clientNetwork } from '../../lib/net/client-network.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { AccountMailer } from './account-mailer.ts';
import type { AttemptLimits } from './attempt-limits.ts';
import { claimAccount, reportRemoved } from './claim-account.ts';
import { deletePendingChanges } from './email-change-store.ts';
import { deleteTokens, findPersonOfToken, insertToken } from './one-time-token-store.ts';
import type { Passwords } from './passwords.ts';
import { checkPassword } from './person-input.ts';
import { findPersonByEmail, updatePassword } from './person-store.ts';
import { hashSecret, newSecret } from './secret-token.ts';
import { endSessionsOfPerson } from './session-store.ts';
import type { ClientInfo } from './sessions.ts';
import { emailKeyOf } from './sign-in.ts';
import { passwordResetEmail } from './system-emails.ts';

/**
 * Password resets. A link is sent to the person's own address, works once and for an hour, and
 * using it ends every session. The requester learns nothing, neither from the response nor from its
 * timing: the email is sent after the response. The link does not sign in, so a second factor is
 * still required, unless the link is the first proof of the address (`claim-account.ts`). The operator
 * can also pass on a link, and then vouches for the person in place of the email.
 */

const LINK_MS = 60 * 60 * 1000;

interface ResetParts {
  pool: Pool;
  clock: Clock;
  limits: AttemptLimits;
  passwords: Passwords;
  mailer: AccountMailer;
  appUrl: string;
}

export class PasswordResets {
  readonly #parts: ResetParts;

  constructor(parts: ResetParts) {
    this.#parts = parts;
  }

  /** Returns before the address is looked up. */
  async request(email: string, client: ClientInfo): Promise<void> {
    const { limits, mailer } = this.#parts;
    await limits.count([{ kind: 'source', key: clientNetwork(client.ip) }]);
    mailer.inBackground('password reset', () => this.#sendResetEmail(emailKeyOf(email)));
  }

  complete(token: string, password: string, client: ClientInfo): Promise<string> {
    return this.#parts.limits.limitBySource(client.ip, () => this.#complete(token, password));
  }

  async #complete(token: string, password: string): Promise<string> {
    const { pool, clock, passwords } = this.#parts;
    const hash = hashSecret(token);
    const asking = await findPersonOfToken(pool, hash, 'password_reset', clock.now());
    if (!asking) throw invalidLink();
    checkPassword(password, asking, '/password');
    const passwordHash = await passwords.hash(password);
    const { person, removed } = await inTransaction(pool, async (db) => {
      const nowMs = clock.now();
      const person = await findPersonOfToken(db, hash, 'password_reset', nowMs, 'for update');
      if (!person) throw invalidLink();
      const removed = await claimAccount(db, person.id, nowMs);
      await updatePassword(db, person.id, passwordHash);
      await deleteTokens(db, person.id, 'password_reset');
      await deleteTokens(db, person.id, 'second_factor');
      await deleteTokens(db, person.id, 'passkey');
      await deletePendingChanges(db, person.id);
      await endSessionsOfPerson(db, person.id, nowMs);
      return { person, removed };
    });
    const others = removed.filter((one) => one !== 'password');
    reportRemoved(this.#parts, person, others);
    return person.id;
  }

  async #sendResetEmail(emailKey: string): Promise<void> {
    const { pool, clock, limits, mailer, appUrl } = this.#parts;
    if (!(await limits.allows({ kind: 'reset', key: emailKey }))) return;
    const person = await findPersonByEmail(pool, emailKey);
    if (!person) return;
    const link = await newResetLink({ pool, clock, appUrl }, person.id);
    await mailer.send(person, passwordResetEmail(person, link));
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
  return new RefusedError('invalid_link', 'This link was used, has expired, or never existed.');
}
