import { inTransaction, type Pool } from '../../db/connections/pool.ts';
import type { RefusedError } from '../../lib/refused-error.ts';
import type { AttemptLimits } from './attempt-limits.ts';
import { validationFailed } from './person-input.ts';
import { findPerson, type Person } from './person-store.ts';
import type { SecondFactor } from './second-factor.ts';
import type { ClientInfo } from './sessions.ts';
import { codeAttempts, type SignIn } from './sign-in.ts';

/** What a signed-in person enters again. */
export interface Reauthentication {
  password: string;
  /** Required if the person has a second factor. */
  code?: string;
}

export interface ReauthenticationParts {
  pool: Pool;
  limits: AttemptLimits;
  signIn: SignIn;
  secondFactor: SecondFactor;
}

/**
 * Requires the password, and a code if the person has a second factor: for changes that a stolen
 * session must not be able to make. Throws if either is wrong.
 */
export async function reauthenticate(
  { pool, limits, signIn, secondFactor }: ReauthenticationParts,
  person: Person,
  { password, code }: Reauthentication,
  client: ClientInfo,
): Promise<void> {
  if (!(await signIn.confirmPassword(person, password, client))) throw wrongPassword('/password');
  if (person.totpConfirmedAtMs === null) return;
  if (code === undefined)
    throw codeError('required', 'A code from the authenticator app is required.');
  const attempts = codeAttempts(person, client);
  await limits.count(attempts);
  const isRight = await inTransaction(pool, async (db) => {
    const locked = await findPerson(db, person.id, 'for update');
    return locked !== undefined && secondFactor.consumeCode(db, locked, code);
  });
  if (!isRight) throw codeError('wrong_code', 'The code is wrong or was already used.');
  await limits.succeeded(attempts);
}

export function wrongPassword(pointer: string): RefusedError {
  return validationFailed([{ pointer, code: 'wrong_password', detail: 'The password is wrong.' }]);
}

function codeError(code: string, detail: string): RefusedError {
  return validationFailed([{ pointer: '/code', code, detail }]);
}
