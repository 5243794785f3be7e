import type { Log } from '../lib/log.ts';
import type { Clock, Timer } from '../lib/time/clock.ts';
import { enterState, type ItemState, type LeasedItem } from './lease.ts';
import type { ReadyQueue } from './ready-queue.ts';

export interface LeaseKeeperParts<Item extends LeasedItem> {
  store: LeaseStore<Item>;
  clock: Clock;
  log: Log;
  leaseMs: number;
  ready: ReadyQueue<Item>;
  /** All items that this node holds. */
  held: () => Iterable<Item>;
  onDropped: (item: Item, from: ItemState) => void;
  /** Ends a ready item whose time is over; false when it may wait on. */
  expire?: (item: Item, nowMs: number) => boolean;
  onLost: (item: Item) => void;
  /**
   * Runs every second while items are held. Starts what may be started: its leases are renewed, so an
   * item whose turn was missed would wait forever.
   */
  pump: () => void;
  /** `pump` also runs while nothing is held. */
  pumpsAlways?: boolean;
}

export interface LeaseStore<Item> {
  /** Extends leases; returns the indexes of those that this node still holds. */
  renew: (items: readonly Item[], endsAtMs: number) => Promise<number[]>;
  /** Ends leases, so that any node can claim the rows when they are due. */
  release: (items: readonly Item[], dueAtMs: number) => Promise<unknown>;
}

const UPKEEP_MS = 1_000;
/** Rows that one statement renews or releases, so that results do not wait for it. */
const GROUP_MAX = 2_000;

/**
 * Maintains the leases of all items in memory: renews them while the node works, releases them when
 * it stops, and drops items whose lease was lost.
 */
export class LeaseKeeper<Item extends LeasedItem> {
  readonly #parts: LeaseKeeperParts<Item>;
  #timer: Timer | undefined;
  #stopped = false;
  /** Items may have come since the last run began. */
  #added = false;
  readonly #releases = new Set<Promise<void>>();
  /** Dropped, but not released yet, because the database was not available. */
  #unreleased: Item[] = [];

  constructor(parts: LeaseKeeperParts<Item>) {
    this.#parts = parts;
  }

  /** Clocks of nodes differ slightly, so no attempt starts in the last moments of a lease. */
  isSafe(item: Item, nowMs: number): boolean {
    const marginMs = Math.min(5_000, this.#parts.leaseMs / 10);
    return nowMs < item.leaseEndsAtMs - marginMs;
  }

  start(): void {
    this.added();
  }

  /** Must be called after items were added to those held. */
  added(): void {
    this.#added = true;
    if (!this.#timer && !this.#stopped) this.#schedule();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  /** `#timer` stays set until the run has ended, so that runs never overlap. */
  #schedule(): void {
    this.#timer = this.#parts.clock.after(UPKEEP_MS, () => {
      this.#added = false;
      void this.#renewAndExpire().then((found) => {
        if (this.#stopped) return;
        this.#parts.pump();
        if (found || this.#added || this.#parts.pumpsAlways) this.#schedule();
        else this.#timer = undefined;
      });
    });
  }

  /** Removes an item that is finished or no longer leased. */
  drop(item: Item): void {
    const { state } = item;
    if (state === 'dropped') return;
    if (state === 'ready') this.#parts.ready.remove(item, 'dropped');
    else enterState(item, 'dropped');
    this.#parts.onDropped(item, state);
  }

  /** Drops an item whose lease has expired. */
  lose(item: Item): void {
    this.drop(item);
    this.#parts.onLost(item);
  }

  /**
   * Another node ended all leases. Items that are being sent or recorded end on their own. The others
   * are released: a renewal that was on its way may have come after the takeover.
   */
  loseAll(): void {
    const waiting = [...this.#parts.held()].filter(
      ({ state }) => state !== 'sending' && state !== 'recording',
    );
    void this.release(waiting);
  }

  /** Makes the rows due for other nodes, after an optional delay. */
  async release(items: readonly Item[], delayMs = 0): Promise<void> {
    if (items.length === 0) return;
    for (const item of items) this.drop(item);
    const release = this.#writeRelease(items, delayMs);
    this.#releases.add(release);
    await release;
    this.#releases.delete(release);
  }

  /** Resolves when no release is in progress. */
  async released(): Promise<void> {
    while (this.#releases.size > 0) await Promise.all(this.#releases);
  }

  async #writeRelease(items: readonly Item[], delayMs: number): Promise<void> {
    const { store, clock, log } = this.#parts;
    for (const group of groupsOf(items)) {
      try {
        await store.release(group, clock.now() + delayMs);
      } catch (error) {
        log.warn({ err: error, count: group.length }, 'releasing leases failed, retrying');
        this.#unreleased.push(...group);
        this.added();
      }
    }
  }

  /** Returns whether there was anything to keep. */
  async #renewAndExpire(): Promise<boolean> {
    const { clock, held, leaseMs, expire } = this.#parts;
    const nowMs = clock.now();
    await this.#releaseAgain(nowMs);
    const renew: Item[] = [];
    let found = false;
    for (const item of held()) {
      found = true;
      const waits = item.state === 'ready';
      if (waits && expire?.(item, nowMs)) continue;
      if (waits && nowMs >= item.leaseEndsAtMs) this.lose(item);
      else if (item.leaseEndsAtMs - nowMs < leaseMs / 2) renew.push(item);
    }
    for (const group of groupsOf(renew)) await this.#renew(group, clock.now() + leaseMs);
    return found;
  }

  /** After an outage of the database, mail must not wait until the leases expire. */
  async #releaseAgain(nowMs: number): Promise<void> {
    const items = this.#unreleased.filter(({ leaseEndsAtMs }) => nowMs < leaseEndsAtMs);
    this.#unreleased = [];
    if (items.length > 0) await this.#writeRelease(items, 0);
  }

  async #renew(items: Item[], endsAtMs: number): Promise<void> {
    const { store, log } = this.#parts;
    try {
      const ours = new Set(await store.renew(items, endsAtMs));
      items.forEach((item, index) => {
        if (ours.has(index)) item.leaseEndsAtMs = endsAtMs;
        else if (item.state === 'ready') this.lose(item);
      });
    } catch (error) {
      log.warn({ err: error, count: items.length }, 'renewing leases failed');
    }
  }
}

function groupsOf<Item>(items: readonly Item[]): Item[][] {
  const groups: Item[][] = [];
  for (let at = 0; at < items.length; at += GROUP_MAX) groups.push(items.slice(at, at + GROUP_MAX));
  return groups;
}
