import type { ApiKeys } from '../accounts/api-keys.ts';
import type { Authenticator } from '../accounts/authenticate.ts';
import type { People } from '../accounts/people/people.ts';
import type { ContactImports } from '../contacts/contact-imports.ts';
import type { Pool } from '../db/connections/pool.ts';
import type { DomainVerifier } from '../domains/domain-verifier.ts';
import type { Log } from '../lib/log.ts';
import { PeriodicTasks } from '../lib/scheduling/periodic-tasks.ts';
import type { Clock } from '../lib/time/clock.ts';
import type { AuditLog } from '../logs/audit-log.ts';
import { deleteExpiredKeys } from '../messages/accept/idempotency-store.ts';
import { deleteOldReservations } from '../messages/accept/message-id-store.ts';
import type { ContentArchive } from '../messages/archive/content-archive.ts';
import { deleteEncryptedContents } from '../messages/content/message-content-store.ts';
import { deleteStreamContents } from '../messages/content/stream-retention.ts';
import type { Erasures } from '../privacy/erase-address.ts';
import type { WorkspacePurges } from '../privacy/workspace-purges.ts';
import type { WorkspaceQuotas } from '../quotas/workspace-quotas.ts';
import type { Suppressions } from '../suppressions/suppressions.ts';

const RESUME_FIRST_MS = 2_000;
const RESUME_MS = 5_000;
const FREQUENT_MS = 10_000;
const CERTIFICATE_MS = 30_000;
const MINUTE_MS = 60_000;
const RARE_MS = 600_000;
const CONTENTS_BATCH = 500;
const KEYS_BATCH = 5_000;

export interface BackgroundJobsOptions {
  pool: Pool;
  clock: Clock;
  log: Log;
  authenticator: Authenticator;
  apiKeys: ApiKeys;
  people: People;
  verifier: DomainVerifier;
  imports: ContactImports;
  erasures: Erasures;
  purges: WorkspacePurges;
  suppressions: Suppressions;
  workspaceQuotas: WorkspaceQuotas;
  publishQuotaNotices: () => Promise<void>;
  contents: ContentArchive;
  auditLog: AuditLog;
  /** The SMTP listeners, whose certificate is reloaded when it was renewed. */
  listeners: readonly { renewCertificate(): Promise<void> }[];
  /** Aborted when the server stops, to end long jobs early. */
  signal: AbortSignal;
}

/** Starts the periodic jobs. They run on every node; the database prevents duplicate work. */
export function startBackgroundJobs(options: BackgroundJobsOptions): PeriodicTasks {
  const { pool, clock, log, authenticator, apiKeys, people, imports, signal } = options;
  const { verifier, erasures, purges, suppressions, auditLog } = options;
  const { contents, listeners } = options;
  const jobs = new PeriodicTasks({ clock, log });
  const scheduleResume = (task: string, work: () => Promise<void>): void =>
    jobs.schedule(RESUME_MS, task, work, RESUME_FIRST_MS);
  scheduleResume('resume contact imports', () => imports.work());
  scheduleResume('resume erasures', () => erasures.work());
  jobs.schedule(FREQUENT_MS, 'delete workspaces', () => purges.work());
  jobs.schedule(FREQUENT_MS, 'verify domains', () => verifier.verifyDue(signal));
  jobs.schedule(FREQUENT_MS, 'save API key usage', () => authenticator.flushLastUsed());
  jobs.schedule(FREQUENT_MS, 'publish quota notices', () => options.publishQuotaNotices());
  jobs.schedule(FREQUENT_MS, 'remove expired suppressions', () => suppressions.removeExpired());
  jobs.schedule(FREQUENT_MS, 'delete expired idempotency keys', async () => {
    while (await deleteExpiredKeys(pool, clock.now(), KEYS_BATCH)) {
      if (signal.aborted) return;
    }
  });
  jobs.schedule(RARE_MS, 'delete old Message-ID reservations', async () => {
    while (await deleteOldReservations(pool, clock.now(), KEYS_BATCH)) {
      if (signal.aborted) return;
    }
  });
  for (const listener of listeners) {
    jobs.schedule(CERTIFICATE_MS, 'reload certificate', () => listener.renewCertificate());
  }
  jobs.schedule(MINUTE_MS, 'delete encrypted content of finished messages', async () => {
    while ((await deleteEncryptedContents(pool, clock.now(), CONTENTS_BATCH)) === CONTENTS_BATCH) {
      if (signal.aborted) return;
    }
  });
  jobs.schedule(MINUTE_MS, 'delete content of streams', () =>
    deleteStreamContents(pool, clock, signal),
  );
  jobs.schedule(MINUTE_MS, 'archive contents', () => contents.work(signal));
  jobs.schedule(MINUTE_MS, 'record unfinished changes', () => auditLog.recordUnfinished());
  const scheduleRarely = (task: string, work: () => Promise<void>): void =>
    jobs.schedule(RARE_MS, task, work, FREQUENT_MS);
  scheduleRarely('notify about expiring API keys', () => apiKeys.notifyExpiring());
  scheduleRarely('delete expired sessions', () => people.sweep());
  scheduleRarely('delete old contact imports', () => imports.sweep());
  scheduleRarely('delete old quota leases', () => options.workspaceQuotas.sweep());
  return jobs;
}
