import { performance } from 'node:perf_hooks';
import type { Clock } from '../lib/clock.ts';

/**
 * Mail first. While this process is busy and handles mail, webhooks take only a share: a number of
 * tries for every so many events that mail makes. That is a share of whatever the machine can do,
 * fast or slow, and the backlog drains as soon as there is time to spare. A process that handles no
 * mail is never held back.
 */
export interface PaceParts {
  clock: Clock;
  /** How often this process has committed something of mail, ever. */
  mailCommits: () => number;
  /** The share of time, from 0 to 1, that the process was busy since it was last asked. */
  busy?: () => number;
}

export class Pace {
  readonly #clock: Clock;
  readonly #mailCommits: () => number;
  readonly #busy: () => number;
  #lookedAtMs: number;
  #commits = 0;
  #held = false;
  #allowance = 0;
  #allowedAtMs = 0;

  constructor(parts: PaceParts) {
    this.#clock = parts.clock;
    this.#mailCommits = parts.mailCommits;
    this.#busy = parts.busy ?? eventLoopBusy();
    this.#lookedAtMs = parts.clock.now();
  }

  get held(): boolean {
    const nowMs = this.#clock.now();
    const sinceMs = nowMs - this.#lookedAtMs;
    // Below zero the clock was set back: what was seen then is of no time that is known.
    if (sinceMs >= 0 && sinceMs < LOOK_EVERY_MS) return this.#held;
    const commits = this.#mailCommits();
    const perSecond = ((commits - this.#commits) * 1000) / sinceMs;
    this.#lookedAtMs = nowMs;
    this.#commits = commits;
    this.#held = this.#busy() > BUSY_ABOVE && perSecond > COMMITS_A_SECOND;
    return this.#held;
  }

  /** Mail has made this many events. */
  seen(events: number): void {
    this.#allowance = Math.min(ALLOWANCE_MAX, this.#allowance + events * SHARE);
  }

  /** Whether another try may begin; one that may is counted. */
  take(): boolean {
    if (!this.held) return true;
    const nowMs = this.#clock.now();
    const restedMs = Math.min(1_000, Math.max(0, nowMs - this.#allowedAtMs));
    this.#allowedAtMs = nowMs;
    this.#allowance = Math.min(ALLOWANCE_MAX, this.#allowance + (restedMs * LEAST_A_SECOND) / 1000);
    if (this.#allowance < 1) return false;
    this.#allowance -= 1;
    return true;
  }
}

const LOOK_EVERY_MS = 100;
const BUSY_ABOVE = 0.85;
/** Fewer are a trickle that nobody has to make room for. */
const COMMITS_A_SECOND = 20;
/** Tries for each event: one costs about two thirds of what accepting and delivering a message does. */
const SHARE = 0.07;
const ALLOWANCE_MAX = 100;
/** Never nothing, however long mail keeps us busy. */
const LEAST_A_SECOND = 10;

function eventLoopBusy(): () => number {
  let before = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    return utilization;
  };
}
