import type { ApiKeys } from '../accounts/api-keys.ts';
import type { Authenticator } from '../accounts/authenticate.ts';
import type { People } from '../accounts/people/people.ts';
import type { ContactImports } from '../contacts/contact-imports.ts';
import type { Erasures } from '../privacy/erase-address.ts';
import type { Pool } from '../db/pool.ts';
import type { DomainVerifier } from '../domains/domain-verifier.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { PeriodicTasks } from '../lib/periodic-tasks.ts';
import { deleteExpiredKeys } from '../messages/accept/idempotency-store.ts';
import { deleteEncryptedContents } from '../messages/content/message-content-store.ts';
import type { Suppressions } from '../suppressions/suppressions.ts';
import type { Submission } from './build-submission.ts';

const SWEEP_MS = 10_000;
const EXPIRY_ROUND_MS = 600_000;
const RESUME_MS = 2_000;
const FORGET_MS = 60_000;
const CERTIFICATE_MS = 30_000;
const FORGOTTEN_MAX = 500;
const SWEPT_KEYS_MAX = 5_000;

/** What the house does by itself, now and then, whoever calls. */
export function startBackgroundJobs(parts: {
  pool: Pool;
  clock: Clock;
  log: Log;
  authenticator: Authenticator;
  apiKeys: ApiKeys;
  people: People;
  verifier: DomainVerifier;
  imports: ContactImports;
  erasures: Erasures;
  suppressions: Suppressions;
  smtpPorts: readonly Pick<Submission, 'renewCertificate'>[];
  /** Aborted when the server leaves: what takes long stops where it is. */
  leaving: AbortSignal;
}): PeriodicTasks {
  const { pool, clock, log, authenticator, apiKeys, people, imports, leaving } = parts;
  const { verifier, erasures, suppressions, smtpPorts } = parts;
  const rounds = new PeriodicTasks({ clock, log });
  rounds.schedule(SWEEP_MS, 'write when keys were used', () => authenticator.flushLastUsed());
  rounds.schedule(EXPIRY_ROUND_MS, 'tell of keys that expire', () => apiKeys.notifyExpiring());
  rounds.schedule(EXPIRY_ROUND_MS, 'forget ended sessions', () => people.sweep());
  rounds.schedule(SWEEP_MS, 'verify domains', () => verifier.verifyDue(leaving));
  rounds.schedule(RESUME_MS, 'go on with imports', () => imports.work());
  rounds.schedule(RESUME_MS, 'go on with erasures', () => erasures.work());
  rounds.schedule(SWEEP_MS, 'end suppressions', () => suppressions.removeExpired());
  for (const port of smtpPorts) {
    rounds.schedule(CERTIFICATE_MS, 'look for a new certificate', () => port.renewCertificate());
  }
  rounds.schedule(EXPIRY_ROUND_MS, 'forget old imports', () => imports.sweep());
  rounds.schedule(FORGET_MS, 'forget secrets of finished messages', async () => {
    while ((await deleteEncryptedContents(pool, clock.now(), FORGOTTEN_MAX)) === FORGOTTEN_MAX) {
      if (leaving.aborted) return;
    }
  });
  rounds.schedule(SWEEP_MS, 'forget old idempotency keys', async () => {
    while (await deleteExpiredKeys(pool, clock.now(), SWEPT_KEYS_MAX)) {
      if (leaving.aborted) return;
    }
  });
  return rounds;
}
