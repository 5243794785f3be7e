import { randomBytes } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';

/**
 * Wakes those who follow the ledger. Whoever commits events in this process rings: followers here
 * hear it at once, those of other nodes by a notice of its own, at most one every 100 ms. A notice
 * inside the writing statements was rejected: PostgreSQL lines up all commits that carry one behind
 * a single lock. A ring that is lost costs little: followers look by themselves every 200 ms.
 */
export class LedgerBell {
  readonly #clock: Clock;
  readonly #announce: (from: string) => Promise<void>;
  readonly #followers = new Set<() => void>();
  readonly #self = randomBytes(8).toString('hex');
  /** How often events were committed in this process. */
  rings = 0;
  #announcedAtMs = Number.NEGATIVE_INFINITY;
  #planned = false;

  constructor(parts: { clock: Clock; announce: (from: string) => Promise<void> }) {
    this.#clock = parts.clock;
    this.#announce = parts.announce;
  }

  onRing(follower: () => void): () => void {
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }

  /** Events were committed here. */
  ring(): void {
    this.rings += 1;
    this.#tell();
    if (this.#planned) return;
    this.#planned = true;
    const waitMs = this.#announcedAtMs + ANNOUNCE_EVERY_MS - this.#clock.now();
    if (waitMs <= 0) this.#send();
    else this.#clock.after(waitMs, () => this.#send());
  }

  /** A notice came in; our own come back to us as well. */
  heard(from: string): void {
    if (from !== this.#self) this.#tell();
  }

  #tell(): void {
    for (const follower of this.#followers) follower();
  }

  #send(): void {
    this.#planned = false;
    this.#announcedAtMs = this.#clock.now();
    // Nobody waits for it, and who misses it looks by himself.
    this.#announce(this.#self).catch(() => {});
  }
}

const ANNOUNCE_EVERY_MS = 100;
