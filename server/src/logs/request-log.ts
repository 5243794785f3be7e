import type { Mode } from '../accounts/tenant-scope.ts';
import { isConnectionError } from '../db/connections/database-errors.ts';
import type { Pool } from '../db/connections/pool.ts';
import { decodeId } from '../lib/ids.ts';
import type { Log } from '../lib/log.ts';
import type { Clock, Timer } from '../lib/time/clock.ts';
import { type RedactedRequest, redactPath } from './redact-request.ts';
import { insertRequests, type NewRequestRow } from './request-log-store.ts';

/**
 * The log of API requests. Entries are gathered in memory and written in groups within a second, so
 * that a request neither waits nor fails because of its entry. Memory is bounded: each workspace
 * has a budget per second, beyond which only a sample of its successful requests is kept and failed
 * ones are dropped, and all of them share a limit. What is left out is counted.
 */

export interface RequestEntry {
  workspaceId: string;
  mode: Mode;
  /** The public id of the request. */
  id: string;
  method: string;
  url: string;
  operation: string | null;
  status: number;
  durationMs: number;
  actor: string;
  ip: string;
  userAgent: string;
  /** The public id of the message that was sent. */
  messageId: string | null;
  /** Only of failed requests. */
  details: RedactedRequest | null;
}

const WRITE_MS = 1_000;

const BUDGET_MS = 1_000;
/** Successful requests of a workspace per second that are all kept. */
const SUCCESSES_MAX = 50;
/** Of more successful requests, one in this many is kept. */
const SAMPLED_ONE_IN = 20;
/** Failed requests of a workspace per second that are kept. */
const FAILURES_MAX = 100;
/** Entries in memory. */
const ENTRIES_MAX = 5_000;
const DETAILS_CHARS_MAX = 8 * 1024 * 1024;
/** Entries per statement. */
const BATCH = 1_000;
const USER_AGENT_CHARS_MAX = 200;

export class RequestLog {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #counts = { written: 0, sampled: 0, dropped: 0 };
  readonly #budgets = new Map<string, { successes: number; failures: number }>();
  #budgetsSinceMs = 0;
  #entries: RequestEntry[] = [];
  #detailsChars = 0;
  /** Set while entries wait. */
  #timer: Timer | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(parts: { pool: Pool; clock: Clock; log: Log }) {
    this.#pool = parts.pool;
    this.#clock = parts.clock;
    this.#log = parts.log;
  }

  /** Written entries, and those left out since the start: `sampled` ones on purpose. */
  get counts(): Readonly<Record<'written' | 'sampled' | 'dropped', number>> {
    return this.#counts;
  }

  /** Whether a request is to be logged. Asked first, so that one that is left out costs nothing else. */
  admits(workspaceId: string, status: number): boolean {
    if (this.#entries.length >= ENTRIES_MAX || this.#detailsChars >= DETAILS_CHARS_MAX) {
      this.#counts.dropped += 1;
      return false;
    }
    const budget = this.#budgetOf(workspaceId);
    if (status >= 400) {
      budget.failures += 1;
      if (budget.failures <= FAILURES_MAX) return true;
      this.#counts.dropped += 1;
      return false;
    }
    budget.successes += 1;
    if (budget.successes <= SUCCESSES_MAX || budget.successes % SAMPLED_ONE_IN === 0) return true;
    this.#counts.sampled += 1;
    return false;
  }

  add(entry: RequestEntry): void {
    this.#entries.push(entry);
    this.#timer ??= this.#clock.after(WRITE_MS, () => void this.flush());
    const { details } = entry;
    if (details) this.#detailsChars += (details.body?.length ?? 0) + (details.problem?.length ?? 0);
  }

  /** Writes all entries so far. Never rejects: entries that cannot be written are dropped. */
  flush(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  #budgetOf(workspaceId: string): { successes: number; failures: number } {
    const nowMs = this.#clock.now();
    if (nowMs - this.#budgetsSinceMs >= BUDGET_MS || nowMs < this.#budgetsSinceMs) {
      this.#budgets.clear();
      this.#budgetsSinceMs = nowMs;
    }
    let budget = this.#budgets.get(workspaceId);
    if (!budget) {
      budget = { successes: 0, failures: 0 };
      this.#budgets.set(workspaceId, budget);
    }
    return budget;
  }

  async #write(): Promise<void> {
    if (this.#entries.length === 0) return;
    const entries = this.#entries;
    this.#entries = [];
    this.#detailsChars = 0;
    for (let from = 0; from < entries.length; from += BATCH) {
      const rows = entries.slice(from, from + BATCH).map(toRow);
      try {
        await insertRequests(this.#pool, rows);
        this.#counts.written += rows.length;
      } catch (error) {
        this.#counts.dropped += rows.length;
        // An outage is reported elsewhere.
        if (!isConnectionError(error)) {
          this.#log.warn({ err: error, entries: rows.length }, 'request log entries dropped');
        }
      }
    }
  }
}

function toRow(entry: RequestEntry): NewRequestRow {
  const path = redactPath(entry.url);
  const messageId = entry.messageId ?? /(?<=\/)msg_[0-9a-z]{26}(?=\/|$)/.exec(path)?.[0];
  return {
    workspace_id: entry.workspaceId,
    mode: entry.mode,
    id: decodeId('req', entry.id) as string,
    method: entry.method,
    path,
    operation: entry.operation,
    status: entry.status,
    duration_ms: Math.round(entry.durationMs),
    actor: entry.actor,
    ip: entry.ip,
    user_agent: entry.userAgent.slice(0, USER_AGENT_CHARS_MAX),
    message_id: messageId === undefined ? null : (decodeId('msg', messageId) ?? null),
    problem: entry.details?.problem ?? null,
    query: entry.details?.query ?? null,
    body: entry.details?.body ?? null,
  };
}
