import { inTransaction, type Pool, type Queryable } from '../../db/connections/pool.ts';
import { clientNetwork } from '../../lib/net/client-network.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { parseMailbox } from '../../mail/address.ts';
import type { Attempt, AttemptLimits } from './attempt-limits.ts';
import { deleteTokens, findPersonOfToken, insertToken } from './one-time-token-store.ts';
import type { Passwords } from './passwords.ts';
import { findForSignIn, lockIfPasswordUnchanged, type Person } from './person-store.ts';
import type { SecondFactor } from './second-factor.ts';
import { hashSecret, newSecret } from './secret-token.ts';
import type { ClientInfo, NewSession, Sessions } from './sessions.ts';

/**
 * Sign-in: an address and a password come in; a new session goes out, or a challenge when the
 * person has a second factor. Attackers learn nothing: an unknown address takes the same time, gets
 * the same response and is throttled like a wrong password.
 */

export type SignInOutcome =
  | { kind: 'signed_in'; begun: NewSession }
  | { kind: 'second_factor_required'; challenge: string };

const CHALLENGE_MS = 10 * 60 * 1000;

interface SignInParts {
  pool: Pool;
  clock: Clock;
  passwords: Passwords;
  limits: AttemptLimits;
  sessions: Sessions;
  secondFactor: SecondFactor;
}

export class SignIn {
  readonly #parts: SignInParts;

  constructor(parts: SignInParts) {
    this.#parts = parts;
  }

  async withPassword(
    given: { email: string; password: string },
    client: ClientInfo,
    presented: string | undefined,
  ): Promise<SignInOutcome> {
    const { pool, clock, sessions } = this.#parts;
    const found = await findForSignIn(pool, emailKeyOf(given.email), clientNetwork(client.ip));
    const person = await this.#checkPassword(found, given, client);
    return inTransaction(pool, async (db) => {
      if (!(await lockIfPasswordUnchanged(db, person))) throw wrongPassword();
      if (person.totpConfirmedAtMs === null) {
        return { kind: 'signed_in', begun: await sessions.start(person, client, presented, db) };
      }
      const challenge = newSecret();
      await insertToken(db, {
        hash: hashSecret(challenge),
        personId: person.id,
        purpose: 'second_factor',
        endsAtMs: clock.now() + CHALLENGE_MS,
      });
      return { kind: 'second_factor_required', challenge };
    });
  }

  /** The second step. A wrong code does not invalidate the challenge. */
  async withCode(
    given: { challenge: string; code: string },
    client: ClientInfo,
    presented: string | undefined,
  ): Promise<NewSession> {
    const { pool, clock, limits, sessions, secondFactor } = this.#parts;
    const hash = hashSecret(given.challenge);
    const find = (db: Queryable, lock: '' | 'for update') =>
      findPersonOfToken(db, hash, 'second_factor', clock.now(), lock);
    const waiting = await find(pool, '');
    if (!waiting) throw challengeExpired();
    const attempts = codeAttempts(waiting, client);
    await limits.count(attempts);
    const newSession = await inTransaction(pool, async (db) => {
      const person = await find(db, 'for update');
      if (!person) throw challengeExpired();
      if (!(await secondFactor.consumeCode(db, person, given.code))) throw wrongCode();
      await deleteTokens(db, person.id, 'second_factor');
      return sessions.start(person, client, presented, db);
    });
    await limits.succeeded(attempts);
    return newSession;
  }

  /**
   * Confirms an operation that a session alone must not perform: that the person is present, not
   * just their browser.
   */
  async confirmPassword(person: Person, password: string, client: ClientInfo): Promise<boolean> {
    const fromKnownSource = { ...person, sourceIsKnown: true };
    try {
      await this.#checkPassword(fromKnownSource, { email: person.email, password }, client);
      return true;
    } catch (error) {
      if (error instanceof RefusedError && error.code === 'invalid_credentials') return false;
      throw error;
    }
  }

  async #checkPassword(
    person: (Person & { sourceIsKnown: boolean }) | undefined,
    given: { email: string; password: string },
    client: ClientInfo,
  ): Promise<Person> {
    const { limits, passwords } = this.#parts;
    const source = clientNetwork(client.ip);
    const account = emailKeyOf(given.email);
    const attempts: Attempt[] = [
      { kind: 'source', key: source },
      { kind: 'password', key: person?.sourceIsKnown ? `${account}\n${source}` : account },
    ];
    await limits.count(attempts);
    const right = await passwords.verify(person?.passwordHash, given.password);
    if (!person || !right) throw wrongPassword();
    await limits.succeeded(attempts);
    return person;
  }
}

/** The canonical form of an address for comparison. An invalid address matches no one. */
export function emailKeyOf(email: string): string {
  const parsed = parseMailbox(email);
  return parsed.ok ? parsed.mailbox.key : email.toLowerCase();
}

/**
 * A correct password does not reset these: someone who has it must still not be able to guess
 * codes.
 */
export function codeAttempts(person: Person, client: ClientInfo): Attempt[] {
  return [
    { kind: 'source', key: clientNetwork(client.ip) },
    { kind: 'code', key: person.id },
  ];
}

function wrongPassword(): RefusedError {
  return new RefusedError('invalid_credentials', 'Wrong email address or password.', {
    fix: 'Try again, or reset your password.',
  });
}

function challengeExpired(): RefusedError {
  return new RefusedError('invalid_link', 'This sign-in has expired.', {
    fix: 'Start again with your password.',
  });
}

function wrongCode(): RefusedError {
  return new RefusedError('invalid_credentials', 'The code is wrong or was already used.', {
    fix: 'Enter the current code of your authenticator app, or an unused recovery code.',
  });
}
