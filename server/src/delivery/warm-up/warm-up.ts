import type { Log } from '../../lib/log.ts';
import type { Clock, Timer } from '../../lib/time/clock.ts';
import { SENDER_REASONS } from '../../messages/verdict/bounce-rules.ts';
import { findRule } from '../../messages/verdict/verdict-rules.ts';
import type { AttemptReport } from '../delivery.ts';
import { NotPreparedError } from '../transport/outgoing-mail.ts';
import {
  capOf,
  DAY_MS,
  startOfDay,
  type WarmUpLease,
  type WarmUpProgress,
  type WarmUpRequest,
} from './warm-up-plan.ts';

/** The progress of one sender in the database. */
export interface WarmUpMemory {
  lease(provider: string, request: WarmUpRequest): Promise<WarmUpLease>;
  giveBack(provider: string, unused: { dayMs: number; messages: number }): Promise<void>;
  count(provider: string, counts: Pick<WarmUpProgress, 'refused' | 'overflowed'>): Promise<void>;
}

export interface WarmUpParts {
  /** The addresses that mail is sent from, or the HELO name. */
  sender: string;
  startsAtMs: number;
  /** The day of the plan to begin with: later than 1 for an address that has a reputation. */
  startDay: number;
  memory: WarmUpMemory;
  clock: Clock;
  log: Log;
}

/** What this node knows about one provider. */
interface Allowance {
  /** The day of the leases. */
  dayMs: number;
  /** What is left of them. */
  left: number;
  /** Null: no limit. Undefined: not known yet. */
  cap: number | null | undefined;
  /** Nodes have leased the whole cap. */
  isExhausted: boolean;
  askAgainAtMs: number;
  leasing: Promise<void> | undefined;
  refused: number;
  overflowed: number;
}

/**
 * Keeps the mail of one sender within its warm-up plan. Messages are taken from blocks that this node
 * has leased, so that all nodes together never exceed a cap, whatever happens to one of them. Providers
 * are the names of shaping rules, so memory is bounded.
 */
export class WarmUp {
  readonly sender: string;
  readonly #parts: WarmUpParts;
  readonly #allowances = new Map<string, Allowance>();
  #countTimer: Timer | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(parts: WarmUpParts) {
    this.#parts = parts;
    this.sender = parts.sender;
  }

  /**
   * How many of `wanted` messages may be sent to a provider now; all of them, or what is left today.
   * Rejects if the database is unavailable.
   */
  async admit(provider: string, wanted: number): Promise<number> {
    const allowance = this.#allowanceOf(provider);
    for (;;) {
      const nowMs = this.#parts.clock.now();
      if (nowMs < this.#parts.startsAtMs) return 0;
      if (allowance.cap === null) return wanted;
      const isToday = allowance.dayMs >= startOfDay(nowMs);
      if (isToday && (allowance.left >= wanted || allowance.isExhausted)) {
        const admitted = Math.min(allowance.left, wanted);
        allowance.left -= admitted;
        return admitted;
      }
      allowance.leasing ??= this.#lease(provider, allowance, wanted);
      await allowance.leasing;
    }
  }

  /** Whether mail to a provider has to take another route, or to wait. */
  isExhausted(provider: string): boolean {
    const nowMs = this.#parts.clock.now();
    if (nowMs < this.#parts.startsAtMs) return true;
    const allowance = this.#allowances.get(provider);
    if (!allowance?.isExhausted || allowance.left > 0) return false;
    if (allowance.dayMs < startOfDay(nowMs)) return false;
    if (nowMs >= allowance.askAgainAtMs && !allowance.leasing) {
      allowance.leasing = this.#lease(provider, allowance, 1);
      allowance.leasing.catch((err: unknown) =>
        this.#parts.log.warn({ err, provider }, 'leasing messages of the warm-up failed'),
      );
    }
    return true;
  }

  /** The cap of today as far as it is known; null before the plan starts. */
  capOf(provider: string): number | null {
    return this.#allowances.get(provider)?.cap ?? null;
  }

  /** When more mail is allowed after a cap was reached. */
  get nextDayMs(): number {
    const { clock, startsAtMs } = this.#parts;
    return Math.max(startOfDay(clock.now()) + DAY_MS, startsAtMs);
  }

  get hasStarted(): boolean {
    return this.#parts.clock.now() >= this.#parts.startsAtMs;
  }

  /**
   * Takes into account what became of admitted messages. Returns the reports with the warm-up for which
   * late bounces and complaints about them count.
   */
  attempted(provider: string, reports: readonly AttemptReport[]): readonly AttemptReport[] {
    const allowance = this.#allowanceOf(provider);
    if (allowance.cap === null) return reports;
    const { sender } = this;
    let refused = 0;
    for (const { end, startedAtMs } of reports) {
      if (isObjection(end)) refused += 1;
      // What was leased on an earlier day is lost.
      if (!wasSent(end) && startOfDay(startedAtMs) === allowance.dayMs) allowance.left += 1;
    }
    if (refused > 0) this.#count(allowance, { refused, overflowed: 0 });
    return reports.map((report) =>
      wasSent(report.end) ? { ...report, warmUp: { sender, provider } } : report,
    );
  }

  /** Counts messages beyond the cap. */
  overflowed(provider: string, messages: number): void {
    this.#count(this.#allowanceOf(provider), { refused: 0, overflowed: messages });
  }

  /** Writes what was counted, and returns what was not sent. */
  async close(): Promise<void> {
    this.#countTimer?.cancel();
    this.#writeCounts();
    for (const [provider, { dayMs, left, cap }] of this.#allowances) {
      if (left === 0 || cap === null) continue;
      this.#write(() => this.#parts.memory.giveBack(provider, { dayMs, messages: left }));
    }
    await this.#writing;
    this.#allowances.clear();
  }

  async #lease(provider: string, allowance: Allowance, messages: number): Promise<void> {
    const { memory, clock, startsAtMs, startDay } = this.#parts;
    const nowMs = clock.now();
    try {
      const lease = await memory.lease(provider, { startsAtMs, startDay, nowMs, messages });
      const { progress, granted } = lease;
      const cap = capOf(progress);
      allowance.cap = cap;
      allowance.left = granted + (progress.dayMs === allowance.dayMs ? allowance.left : 0);
      allowance.dayMs = progress.dayMs;
      // Known before mail is turned away: it may have to wait for a slot of this route until then.
      allowance.isExhausted = cap !== null && progress.leased >= cap;
      allowance.askAgainAtMs = nowMs + ASK_AGAIN_MS;
    } catch (error) {
      allowance.askAgainAtMs = nowMs + ASK_AGAIN_MS;
      throw new NotPreparedError(error, 'The warm-up of the address could not be loaded');
    } finally {
      allowance.leasing = undefined;
    }
  }

  #allowanceOf(provider: string): Allowance {
    let allowance = this.#allowances.get(provider);
    if (!allowance) {
      allowance = {
        dayMs: 0,
        left: 0,
        cap: undefined,
        isExhausted: false,
        askAgainAtMs: 0,
        leasing: undefined,
        refused: 0,
        overflowed: 0,
      };
      this.#allowances.set(provider, allowance);
    }
    return allowance;
  }

  #count(allowance: Allowance, counts: Pick<WarmUpProgress, 'refused' | 'overflowed'>): void {
    allowance.refused += counts.refused;
    allowance.overflowed += counts.overflowed;
    this.#countTimer ??= this.#parts.clock.after(COUNT_MS, () => this.#writeCounts());
  }

  #writeCounts(): void {
    this.#countTimer = undefined;
    for (const [provider, allowance] of this.#allowances) {
      const { refused, overflowed } = allowance;
      if (refused === 0 && overflowed === 0) continue;
      allowance.refused = 0;
      allowance.overflowed = 0;
      this.#write(() => this.#parts.memory.count(provider, { refused, overflowed }));
    }
  }

  /** One write after the other, so that a slow database gets no more connections. */
  #write(write: () => Promise<void>): void {
    this.#writing = this.#writing
      .then(write)
      .catch((err: unknown) =>
        this.#parts.log.warn({ err }, 'storing counts of the warm-up failed'),
      );
  }
}

/** Whether a server has taken or refused the message, as far as we know. */
function wasSent(end: AttemptReport['end']): boolean {
  if (end.kind === 'accepted' || end.kind === 'refused') return true;
  return 'afterFinalDot' in end && end.afterFinalDot;
}

/** Whether the provider wants less mail from the sender, or none. */
function isObjection(end: AttemptReport['end']): boolean {
  if (end.kind !== 'refused') return false;
  const { reason } = findRule(end.reply, end.stage);
  return SENDER_REASONS.has(reason);
}

/** Another node may have stopped, and returned what it had not used. */
const ASK_AGAIN_MS = 60_000;
const COUNT_MS = 1_000;
