import { inTransaction, type Pool, type Queryable } from '../../db/connections/pool.ts';
import { createEncryptor, type Encryptor } from '../../lib/crypto/encryption.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { findPerson, type Person, updateSecondFactor } from './person-store.ts';
import { hashSecret } from './secret-token.ts';
import {
  base32,
  newRecoveryCodes,
  newTotpSecret,
  recoveryCodeOf,
  stepOfCode,
  totpUri,
} from './totp.ts';

/**
 * The second factor of a person (TOTP). It is set up with a secret for an authenticator app and
 * enabled once a first code has proved that the app has it. Codes and recovery codes work once.
 */

const ISSUER = 'Postrider';

export function createSecondFactor(parts: {
  pool: Pool;
  clock: Clock;
  secretKey: Buffer;
}): SecondFactor {
  return new SecondFactor({
    ...parts,
    encryptor: createEncryptor(parts.secretKey, 'second-factor'),
  });
}

export class SecondFactor {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #encryptor: Encryptor;

  constructor(parts: { pool: Pool; clock: Clock; encryptor: Encryptor }) {
    this.#pool = parts.pool;
    this.#clock = parts.clock;
    this.#encryptor = parts.encryptor;
  }

  /** Creates a secret that is not required yet. A repeated call before confirmation replaces it. */
  async start(personId: string): Promise<{ secret: string; uri: string }> {
    const secret = newTotpSecret();
    return inTransaction(this.#pool, async (db) => {
      const person = await lockPerson(db, personId);
      if (person.totpConfirmedAtMs !== null) {
        throw new RefusedError(
          'conflict',
          'Two-factor authentication is already enabled. Disable it first.',
        );
      }
      await updateSecondFactor(db, {
        ...NO_SECOND_FACTOR,
        id: person.id,
        totpSecret: this.#encryptor.encrypt(secret),
      });
      return { secret: base32(secret), uri: totpUri(secret, person.email, ISSUER) };
    });
  }

  /** Enables the second factor. Returns undefined when the code is wrong. */
  async confirm(personId: string, code: string): Promise<string[] | undefined> {
    return inTransaction(this.#pool, async (db) => {
      const person = await lockPerson(db, personId);
      if (person.totpSecret === null || person.totpConfirmedAtMs !== null) {
        throw new RefusedError(
          'conflict',
          'Two-factor authentication is not being set up. Start the setup first.',
        );
      }
      const step = this.#stepOf(person, code);
      if (step === undefined) return undefined;
      const codes = newRecoveryCodes();
      await updateSecondFactor(db, {
        id: person.id,
        totpSecret: person.totpSecret,
        totpConfirmedAtMs: this.#clock.now(),
        totpStep: step,
        recoveryHashes: codes.map(hashSecret),
      });
      return codes;
    });
  }

  async newRecoveryCodes(personId: string): Promise<string[]> {
    return inTransaction(this.#pool, async (db) => {
      const person = await lockPerson(db, personId);
      if (person.totpConfirmedAtMs === null) throw notEnabled();
      const codes = newRecoveryCodes();
      await updateSecondFactor(db, { ...person, recoveryHashes: codes.map(hashSecret) });
      return codes;
    });
  }

  async remove(personId: string): Promise<void> {
    await inTransaction(this.#pool, async (db) => {
      const person = await lockPerson(db, personId);
      if (person.totpSecret === null) throw notEnabled();
      await updateSecondFactor(db, { ...NO_SECOND_FACTOR, id: person.id });
    });
  }

  /** Consumes a code. Returns false when it is invalid. The person's row must be locked. */
  async consumeCode(db: Queryable, person: Person, code: string): Promise<boolean> {
    const step = this.#stepOf(person, code.replaceAll(/\s/g, ''));
    if (step !== undefined) {
      await updateSecondFactor(db, { ...person, totpStep: step });
      return true;
    }
    const recovery = recoveryCodeOf(code);
    const hash = recovery === undefined ? undefined : hashSecret(recovery);
    const left = person.recoveryHashes.filter((one) => !hash?.equals(one));
    if (left.length === person.recoveryHashes.length) return false;
    await updateSecondFactor(db, { ...person, recoveryHashes: left });
    return true;
  }

  #stepOf(person: Person, code: string): number | undefined {
    if (person.totpSecret === null) return undefined;
    const secret = this.#encryptor.decrypt(person.totpSecret);
    return stepOfCode(secret, code, this.#clock.now(), person.totpStep);
  }
}

export const NO_SECOND_FACTOR = {
  totpSecret: null,
  totpConfirmedAtMs: null,
  totpStep: null,
  recoveryHashes: [],
};

function notEnabled(): RefusedError {
  return new RefusedError('conflict', 'Two-factor authentication is not enabled.');
}

async function lockPerson(db: Queryable, personId: string): Promise<Person> {
  const person = await findPerson(db, personId, 'for update');
  if (!person) throw new RefusedError('not_found', 'This person does not exist.');
  return person;
}
