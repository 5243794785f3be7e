import { isDeepStrictEqual } from 'node:util';
import { inTransaction, type Pool } from '../db/connections/pool.ts';
import type { Log } from '../lib/log.ts';
import type { Clock } from '../lib/time/clock.ts';
import { type CheckedRecord, checkRecords } from './check-records.ts';
import type { Domain, MailHosts, RecordCheck } from './domain.ts';
import { appendDegradedEvent, appendVerifiedEvents } from './domain-events.ts';
import {
  absentRecords,
  CHECK_INTERVAL_MAX_MS,
  nextCheckAtMs,
  nextDomainStatus,
} from './domain-status.ts';
import {
  claimDueDomains,
  deleteKeys,
  findDomain,
  notifyDomainsChanged,
  updateDomain,
} from './domain-store.ts';
import type { PerWorkspaceResolver } from './per-workspace-resolver.ts';
import { mergeChecks, recordStates, shouldBePublished } from './record-states.ts';

/**
 * Checks the DNS records of domains, on request and periodically, and commits the results together
 * with the new status, its event and the time of the next check. No transaction is open during DNS
 * lookups, so the domain is read again before writing, and a result older than the stored one is
 * dropped.
 */

export interface DomainVerifierParts {
  pool: Pool;
  clock: Clock;
  log: Log;
  resolvers: PerWorkspaceResolver;
  hosts: MailHosts;
  /** How long a domain keeps sending after a required record disappeared. */
  graceMs: number;
}

type DomainRef = Pick<Domain, 'workspaceId' | 'id'>;

/** Domains that one node checks concurrently. */
const CONCURRENCY = 16;
/** Longer than a check takes when every name server times out. */
const LEASE_MS = 5 * 60_000;

export class DomainVerifier {
  readonly #parts: DomainVerifierParts;
  readonly #running = new Map<string, Promise<Domain | undefined>>();

  constructor(parts: DomainVerifierParts) {
    this.#parts = parts;
  }

  /**
   * Checks all records now; undefined when the domain was deleted. Concurrent calls for one domain
   * share a check, so repeated requests cause no extra DNS traffic.
   */
  verify(domain: Domain): Promise<Domain | undefined> {
    const running = this.#running.get(domain.id);
    if (running) return running;
    const check = this.#check(domain).finally(() => this.#running.delete(domain.id));
    this.#running.set(domain.id, check);
    return check;
  }

  /**
   * Checks the domains that are due, until none is left. On shutdown, running checks are abandoned;
   * their domains become due again when the lease ends.
   */
  async verifyDue(shutdown: AbortSignal): Promise<void> {
    const { pool, clock } = this.#parts;
    const aborted = new Promise<'left'>((resolve) => {
      if (shutdown.aborted) resolve('left');
      shutdown.addEventListener('abort', () => resolve('left'), { once: true });
    });
    while (!shutdown.aborted) {
      const nowMs = clock.now();
      const due = await claimDueDomains(pool, {
        nowMs,
        leasedUntilMs: nowMs + LEASE_MS,
        latestPlausibleMs: nowMs + CHECK_INTERVAL_MAX_MS,
        limit: CONCURRENCY,
      });
      if (due.length === 0) return;
      const checks = Promise.all(due.map((domain) => this.#verifyOne(domain)));
      await Promise.race([checks, aborted]);
    }
  }

  /** An error in one domain must not prevent the checks of others. */
  async #verifyOne({ workspaceId, id }: DomainRef): Promise<void> {
    try {
      const domain = await findDomain(this.#parts.pool, workspaceId, id);
      if (domain) await this.verify(domain);
    } catch (error) {
      this.#parts.log.warn({ err: error, domain: id }, 'domain check failed');
    }
  }

  async #check(domain: Domain): Promise<Domain | undefined> {
    const { clock, resolvers, hosts } = this.#parts;
    const startedAtMs = clock.now();
    const resolver = resolvers.forWorkspace(domain.workspaceId);
    const checked = await checkRecords(recordStates(domain, hosts, startedAtMs), resolver);
    return this.#commit(domain, checked, startedAtMs);
  }

  #commit(
    { workspaceId, id }: DomainRef,
    checked: readonly CheckedRecord[],
    startedAtMs: number,
  ): Promise<Domain | undefined> {
    const { pool, clock, hosts, graceMs } = this.#parts;
    return inTransaction(pool, async (client) => {
      const before = await findDomain(client, workspaceId, id, 'for update');
      if (!before) return undefined;
      const nowMs = clock.now();
      if (isNewer(before, startedAtMs, nowMs)) return before;

      const expired = before.keys.filter((key) => !shouldBePublished(key, nowMs));
      const keys = before.keys.filter((key) => !expired.includes(key));
      const checks = mergeChecks(recordStates(before, hosts, nowMs), checked, nowMs);
      const updated: Domain = { ...before, keys, checks, checkedAtMs: startedAtMs };
      const records = recordStates(updated, hosts, nowMs);
      const status = nextDomainStatus(updated, records, nowMs, graceMs);
      const becameVerified = status === 'verified' && before.status !== 'verified';
      const after: Domain = {
        ...updated,
        status,
        verifiedAtMs: becameVerified ? nowMs : before.verifiedAtMs,
      };
      const jitter = Math.random();
      after.checkDueAtMs = nextCheckAtMs(after, records, { nowMs, graceMs, jitter });

      await updateDomain(client, after);
      await deleteKeys(
        client,
        after,
        expired.map((key) => key.selector),
      );
      const changed = status !== before.status;
      const newlyAbsent = absentRecords(after, records).some(
        (record) => record.absentSinceMs === nowMs,
      );
      if (becameVerified) await appendVerifiedEvents(client, before, after, nowMs);
      else if (changed || (status === 'degraded' && newlyAbsent)) {
        await appendDegradedEvent(client, after, records, { nowMs, graceMs });
      }
      if (changed || !sameLastKnown(before.checks, checks)) {
        await notifyDomainsChanged(client, workspaceId);
      }
      return after;
    });
  }
}

/** A check dated in the future comes from a wrong clock and would block all checks until then. */
function isNewer({ checkedAtMs }: Domain, startedAtMs: number, nowMs: number): boolean {
  return checkedAtMs !== null && checkedAtMs > startedAtMs && checkedAtMs <= nowMs;
}

/** Whether cached copies of the domain stay valid after the check. */
function sameLastKnown(before: readonly RecordCheck[], after: readonly RecordCheck[]): boolean {
  const lastKnown = (checks: readonly RecordCheck[]) =>
    checks.map(({ name, value, lastKnown }) => [name, value, lastKnown]);
  return isDeepStrictEqual(lastKnown(before), lastKnown(after));
}
