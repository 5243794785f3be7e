import { isDeepStrictEqual } from 'node:util';
import { inTransaction, type Pool } from '../db/pool.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { type CheckedRecord, checkRecords } from './check-records.ts';
import type { Domain, MailHosts } from './domain.ts';
import { appendDegradedEvent, appendVerifiedEvents } from './domain-events.ts';
import { CHECK_INTERVAL_MAX_MS, absentRecords, nextDomainStatus, nextCheckAtMs } from './domain-status.ts';
import {
  deleteKeys,
  findDomain,
  notifyDomainsChanged,
  claimDueDomains,
  updateDomain,
} from './domain-store.ts';
import type { PerWorkspaceResolver } from './per-workspace-resolver.ts';
import { shouldBePublished, mergeChecks, type RecordCheck, recordStates } from './record-states.ts';

/**
 * Looks the records of domains up, when somebody asks and again and again in the background, and
 * commits what was found together with what it means: the domain's status, its event, the time of
 * the next look. No transaction is open while the DNS is asked, so the domain is read again before
 * writing, and a check that was overtaken by a newer one is dropped.
 */

export interface DomainVerifierParts {
  pool: Pool;
  clock: Clock;
  log: Log;
  resolvers: PerWorkspaceResolver;
  hosts: MailHosts;
  /** How long a domain goes on sending after a record vanished. */
  graceMs: number;
}

type DomainRef = Pick<Domain, 'workspaceId' | 'id'>;

/** Domains that one node checks at the same time. */
const CONCURRENCY = 16;
/** Longer than a check takes when every name server is silent. */
const LEASE_MS = 5 * 60_000;

export class DomainVerifier {
  readonly #parts: DomainVerifierParts;
  readonly #running = new Map<string, Promise<Domain | undefined>>();

  constructor(parts: DomainVerifierParts) {
    this.#parts = parts;
  }

  /**
   * The domain after a fresh look at its records; undefined when it is gone. Whoever asks while a
   * check of the domain runs gets the result of that one: asking often costs the DNS nothing.
   */
  verify(domain: Domain): Promise<Domain | undefined> {
    const running = this.#running.get(domain.id);
    if (running) return running;
    const check = this.#check(domain).finally(() => this.#running.delete(domain.id));
    this.#running.set(domain.id, check);
    return check;
  }

  /**
   * Checks the domains that are due, this node's share of them. When the process is about to leave,
   * checks under way are abandoned: they are due again a little later.
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

  /** One domain's trouble must not keep the others from their check. */
  async #verifyOne({ workspaceId, id }: DomainRef): Promise<void> {
    try {
      const domain = await findDomain(this.#parts.pool, workspaceId, id);
      if (domain) await this.verify(domain);
    } catch (error) {
      this.#parts.log.warn({ err: error, domain: id }, 'a domain could not be checked');
    }
  }

  async #check(domain: Domain): Promise<Domain | undefined> {
    const { clock, resolvers: questions, hosts } = this.#parts;
    const startedAtMs = clock.now();
    const resolver = questions.forWorkspace(domain.workspaceId);
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
      const newlyAbsent = absentRecords(after, records).some((record) => record.absentSinceMs === nowMs);
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

/** A look from the future was dated by a clock that was wrong, and would hold off all others till then. */
function isNewer({ checkedAtMs }: Domain, startedAtMs: number, nowMs: number): boolean {
  return checkedAtMs !== null && checkedAtMs > startedAtMs && checkedAtMs <= nowMs;
}

/** Whether caches that know the one need not hear of the other. */
function sameLastKnown(before: readonly RecordCheck[], after: readonly RecordCheck[]): boolean {
  const lastKnown = (checks: readonly RecordCheck[]) =>
    checks.map(({ name, value, lastKnown }) => [name, value, lastKnown]);
  return isDeepStrictEqual(lastKnown(before), lastKnown(after));
}
