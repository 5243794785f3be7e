import { performance } from 'node:perf_hooks';
import type { Clock } from '../../lib/time/clock.ts';

/**
 * Gives mail priority over webhooks. While this process is busy with mail, webhooks get a token
 * bucket: a number of attempts per events that mail produces. That is a share of whatever the
 * machine can do, fast or slow, and the backlog drains as soon as there is idle time. A process
 * without mail is never throttled.
 */
export interface WebhookThrottleParts {
  clock: Clock;
  /** How many mail transactions this process has committed in total. */
  mailCommits: () => number;
  /** The share of time, from 0 to 1, that the process was busy since the last call. */
  busy?: () => number;
}

export class WebhookThrottle {
  readonly #clock: Clock;
  readonly #mailCommits: () => number;
  readonly #busy: () => number;
  #sampledAtMs: number;
  #commits = 0;
  #throttled = false;
  #tokens = 0;
  #refilledAtMs = 0;

  constructor(parts: WebhookThrottleParts) {
    this.#clock = parts.clock;
    this.#mailCommits = parts.mailCommits;
    this.#busy = parts.busy ?? eventLoopBusy();
    this.#sampledAtMs = parts.clock.now();
  }

  get throttled(): boolean {
    const nowMs = this.#clock.now();
    const sinceMs = nowMs - this.#sampledAtMs;
    // A negative interval means that the clock was set back, so the sample is outdated.
    if (sinceMs >= 0 && sinceMs < SAMPLE_INTERVAL_MS) return this.#throttled;
    const commits = this.#mailCommits();
    const perSecond = ((commits - this.#commits) * 1000) / sinceMs;
    this.#sampledAtMs = nowMs;
    this.#commits = commits;
    this.#throttled = this.#busy() > BUSY_ABOVE && perSecond > COMMITS_PER_SECOND_MIN;
    return this.#throttled;
  }

  /** Adds tokens for events that mail has produced. */
  addEvents(events: number): void {
    this.#tokens = Math.min(TOKENS_MAX, this.#tokens + events * TOKENS_PER_EVENT);
  }

  /** Takes a token for another attempt; false when there is none. */
  tryAcquire(): boolean {
    if (!this.throttled) return true;
    const nowMs = this.#clock.now();
    const restedMs = Math.min(1_000, Math.max(0, nowMs - this.#refilledAtMs));
    this.#refilledAtMs = nowMs;
    this.#tokens = Math.min(TOKENS_MAX, this.#tokens + (restedMs * TOKENS_PER_SECOND_MIN) / 1000);
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Returns a token that was not needed. */
  giveBack(): void {
    if (this.#throttled) this.#tokens += 1;
  }
}

const SAMPLE_INTERVAL_MS = 100;
const BUSY_ABOVE = 0.85;
/** Below this rate mail does not need priority. */
const COMMITS_PER_SECOND_MIN = 20;
/** Tokens per event: an attempt costs about two thirds of accepting and delivering a message. */
const TOKENS_PER_EVENT = 0.07;
const TOKENS_MAX = 100;
/** A minimum rate, however long mail keeps the process busy. */
const TOKENS_PER_SECOND_MIN = 10;

function eventLoopBusy(): () => number {
  let before = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    return utilization;
  };
}
