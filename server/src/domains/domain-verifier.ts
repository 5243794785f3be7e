import { isDeepStrictEqual } from 'node:util';
import { inTransaction, type Pool } from '../db/pool.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { type CheckedRecord, checkRecords } from './check-records.ts';
import type { Domain, MailHosts } from './domain.ts';
import { tellDegraded, tellVerified } from './domain-events.ts';
import { CHECK_WITHIN_MS, goneRecords, judgeDomain, nextCheckAtMs } from './domain-status.ts';
import {
  deleteKeys,
  findDomain,
  notifyDomainsChanged,
  takeDue,
  updateDomain,
} from './domain-store.ts';
import type { FairQuestions } from './per-workspace-resolver.ts';
import { isPublished, noteChecks, type RecordCheck, recordStates } from './record-states.ts';

/**
 * Looks the records of domains up, when somebody asks and again and again in the background, and
 * commits what was found together with what it means: the domain's status, its event, the time of
 * the next look. No transaction is open while the DNS is asked, so the domain is read again before
 * writing, and a check that was overtaken by a newer one is dropped.
 */

export interface VerifyParts {
  pool: Pool;
  clock: Clock;
  log: Log;
  questions: FairQuestions;
  hosts: MailHosts;
  /** How long a domain goes on sending after a record vanished. */
  graceMs: number;
}

type DomainName = Pick<Domain, 'workspaceId' | 'id'>;

/** Domains that one node checks at the same time. */
const AT_ONCE = 16;
/** Longer than a check takes when every name server is silent. */
const TAKEN_MS = 5 * 60_000;

export class DomainVerifier {
  readonly #parts: VerifyParts;
  readonly #running = new Map<string, Promise<Domain | undefined>>();

  constructor(parts: VerifyParts) {
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
  async verifyDue(leaving: AbortSignal): Promise<void> {
    const { pool, clock } = this.#parts;
    const left = new Promise<'left'>((resolve) => {
      if (leaving.aborted) resolve('left');
      leaving.addEventListener('abort', () => resolve('left'), { once: true });
    });
    while (!leaving.aborted) {
      const nowMs = clock.now();
      const due = await takeDue(pool, {
        nowMs,
        takenUntilMs: nowMs + TAKEN_MS,
        furthestMs: nowMs + CHECK_WITHIN_MS,
        limit: AT_ONCE,
      });
      if (due.length === 0) return;
      const checks = Promise.all(due.map((domain) => this.#verifyOne(domain)));
      await Promise.race([checks, left]);
    }
  }

  /** One domain's trouble must not keep the others from their check. */
  async #verifyOne({ workspaceId, id }: DomainName): Promise<void> {
    try {
      const domain = await findDomain(this.#parts.pool, workspaceId, id);
      if (domain) await this.verify(domain);
    } catch (error) {
      this.#parts.log.warn({ err: error, domain: id }, 'a domain could not be checked');
    }
  }

  async #check(domain: Domain): Promise<Domain | undefined> {
    const { clock, questions, hosts } = this.#parts;
    const startedAtMs = clock.now();
    const resolver = questions.of(domain.workspaceId);
    const checked = await checkRecords(recordStates(domain, hosts, startedAtMs), resolver);
    return this.#commit(domain, checked, startedAtMs);
  }

  #commit(
    { workspaceId, id }: DomainName,
    checked: readonly CheckedRecord[],
    startedAtMs: number,
  ): Promise<Domain | undefined> {
    const { pool, clock, hosts, graceMs } = this.#parts;
    return inTransaction(pool, async (client) => {
      const before = await findDomain(client, workspaceId, id, 'for update');
      if (!before) return undefined;
      const nowMs = clock.now();
      if (isNewer(before, startedAtMs, nowMs)) return before;

      const over = before.keys.filter((key) => !isPublished(key, nowMs));
      const keys = before.keys.filter((key) => !over.includes(key));
      const checks = noteChecks(recordStates(before, hosts, nowMs), checked, nowMs);
      const looked: Domain = { ...before, keys, checks, checkedAtMs: startedAtMs };
      const records = recordStates(looked, hosts, nowMs);
      const status = judgeDomain(looked, records, nowMs, graceMs);
      const becameVerified = status === 'verified' && before.status !== 'verified';
      const after: Domain = {
        ...looked,
        status,
        verifiedAtMs: becameVerified ? nowMs : before.verifiedAtMs,
      };
      const spread = Math.random();
      after.checkDueAtMs = nextCheckAtMs(after, records, { nowMs, graceMs, spread });

      await updateDomain(client, after);
      await deleteKeys(
        client,
        after,
        over.map((key) => key.selector),
      );
      const changed = status !== before.status;
      const vanished = goneRecords(after, records).some((record) => record.goneSinceMs === nowMs);
      if (becameVerified) await tellVerified(client, before, after, nowMs);
      else if (changed || (status === 'degraded' && vanished)) {
        await tellDegraded(client, after, records, { nowMs, graceMs });
      }
      if (changed || !sameKnowledge(before.checks, checks)) {
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
function sameKnowledge(before: readonly RecordCheck[], after: readonly RecordCheck[]): boolean {
  const known = (checks: readonly RecordCheck[]) =>
    checks.map(({ name, value, lastKnown }) => [name, value, lastKnown]);
  return isDeepStrictEqual(known(before), known(after));
}
