import type { Clock } from '../lib/time/clock.ts';

/**
 * Workspaces of which nothing may be claimed or started for the moment, because they are about to move to
 * another database. The process that moves one repeats its notification; if it dies, work continues a few
 * seconds later. Nothing depends on it but the time that a move takes: rows are safe because they are
 * parked, and results because the move waits for all leases.
 */
export class WithheldWorkspaces {
  readonly #clock: Clock;
  readonly #untilMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(workspaceId: string): void {
    this.#untilMs.set(workspaceId, this.#clock.now() + WITHHELD_MS);
  }

  has(workspaceId: string): boolean {
    // The normal case, and asked before every attempt.
    if (this.#untilMs.size === 0) return false;
    const untilMs = this.#untilMs.get(workspaceId);
    if (untilMs === undefined) return false;
    if (this.#clock.now() < untilMs) return true;
    this.#untilMs.delete(workspaceId);
    return false;
  }

  list(): string[] {
    return [...this.#untilMs.keys()].filter((id) => this.has(id));
  }
}

/** Several times as long as the interval of the notifications. */
const WITHHELD_MS = 5_000;
