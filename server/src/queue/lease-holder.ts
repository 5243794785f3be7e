import type { Log } from '../lib/log.ts';
import type { Clock, Timer } from '../lib/time/clock.ts';
import { holderOf } from './lease.ts';
import type { HolderState, LeaseHolderStore } from './lease-holder-store.ts';

/**
 * The holder of the leases of one queue in this process. Its id is part of every lease, and work may
 * start only while it is alive.
 */
export interface LeaseHolder {
  /** 0 while there is none. */
  readonly id: number;
  /** Whether no other process can have taken over its leases. */
  readonly isAlive: boolean;
  /** Whether no other process holds leases of this queue. */
  readonly isAlone: boolean;
  /** Whether the lease is of this holder, alive or not. */
  issued(lease: number): boolean;
  /** Whether work under this lease may continue. */
  holds(lease: number): boolean;
  start(events: LeaseHolderEvents): void;
  /** Without `released`, the leases that are left are taken over like those of a dead holder. */
  stop(released: boolean): Promise<void>;
}

export interface LeaseHolderEvents {
  /** `isAlive` has changed. */
  onChange: () => void;
  /** Another process ended all leases of this holder. */
  onLost: () => void;
  /** The leases of a dead holder were ended: their rows are due. */
  onTakeover: () => void;
}

/** Where no other process can use the database, nothing needs to be detected. */
export const soleHolder: LeaseHolder = {
  id: 0,
  isAlive: true,
  isAlone: true,
  issued: () => true,
  holds: () => true,
  start: () => {},
  stop: async () => {},
};

export interface SharedHolderParts {
  store: LeaseHolderStore;
  /** Due times are by this clock. */
  clock: Clock;
  /** Heartbeats are by the time of the machine. */
  systemClock: Clock;
  /** Milliseconds of a clock that is never set. */
  stopwatchMs: () => number;
  log: Log;
  /** Host and process. */
  name: string;
}

const HEARTBEAT_MS = 1_000;
/** Without a heartbeat for this long, a holder starts nothing and continues nothing that it can stop. */
const LAPSE_MS = 3_000;
/** Other holders see it dead after this time. The difference leaves time to stop. */
const DEAD_MS = 4_000;
/**
 * After an outage of the database, holders may reconnect one after another, each with results that it
 * could not write: a takeover before that would send these messages twice.
 */
const OUTAGE_GRACE_MS = 10_000;

/**
 * A holder among others on a shared database. It increments a counter in the database every second and
 * reads those of the others. One whose counter has not changed for four seconds is dead, and its leases
 * are taken over; without this, its mail would wait until the leases end.
 *
 * No two clocks are compared. Every process measures with its own: a holder from before its last
 * heartbeat, an observer from after the read that first saw the counter. So a holder that was slow,
 * suspended or cut off from the database always stops before its leases are taken over, and learns of
 * it at its next heartbeat: it then gets a new id, and leases with the old one are no longer its own.
 * An observer that had no contact itself for a while starts to measure again.
 */
export class SharedHolder implements LeaseHolder {
  readonly #parts: SharedHolderParts;
  #events: LeaseHolderEvents | undefined;
  #id = 0;
  /** When the last confirmed heartbeat was sent. */
  #confirmed: Instant = { stopwatchMs: Number.NEGATIVE_INFINITY, wallMs: 0 };
  /** What was read of the others, and from when on they count as silent. */
  #others = new Map<number, ObservedHolder>();
  #readAtMs: number | undefined;
  #takeover: Promise<void> | undefined;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #stopped = false;
  #failing = false;
  #wasAlive = false;

  constructor(parts: SharedHolderParts) {
    this.#parts = parts;
  }

  get id(): number {
    return this.#id;
  }

  /** Both clocks count: one of them may stop while a machine is suspended. */
  get isAlive(): boolean {
    if (this.#id === 0) return false;
    const { stopwatchMs, systemClock } = this.#parts;
    const { stopwatchMs: fromMs, wallMs } = this.#confirmed;
    return stopwatchMs() - fromMs < LAPSE_MS && systemClock.now() - wallMs < LAPSE_MS;
  }

  get isAlone(): boolean {
    return this.#others.size === 0;
  }

  issued(lease: number): boolean {
    return this.#id !== 0 && holderOf(lease) === this.#id;
  }

  holds(lease: number): boolean {
    return this.issued(lease) && this.isAlive;
  }

  start(events: LeaseHolderEvents): void {
    this.#events = events;
    this.#run();
  }

  async stop(released: boolean): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#running;
    await this.#takeover;
    const unregister = released && this.isAlive;
    const id = this.#id;
    this.#id = 0;
    // If it fails, the others see a dead holder without leases.
    if (unregister) await this.#parts.store.unregister(id).catch(() => {});
  }

  #run(): void {
    this.#running = this.#heartbeat().finally(() => {
      const { isAlive } = this;
      if (isAlive !== this.#wasAlive) this.#events?.onChange();
      this.#wasAlive = isAlive;
      if (this.#stopped) return;
      this.#timer = this.#parts.systemClock.after(HEARTBEAT_MS, () => this.#run());
    });
  }

  async #heartbeat(): Promise<void> {
    const { store, log, name } = this.#parts;
    try {
      if (this.#id === 0) {
        // A holder is alive only from its first heartbeat on.
        this.#confirmed = { stopwatchMs: Number.NEGATIVE_INFINITY, wallMs: 0 };
        this.#id = await store.register(name);
      }
      const sentAt = this.#now();
      const holders = await store.heartbeat(this.#id);
      if (!holders) return this.#lose();
      this.#observe(holders, sentAt.stopwatchMs);
      // A lapse that this heartbeat ends may have stopped work in the meantime.
      if (!this.isAlive) this.#wasAlive = false;
      this.#confirmed = sentAt;
      this.#failing = false;
    } catch (error) {
      if (!this.#failing) log.warn({ err: error }, 'heartbeat failed, retrying');
      this.#failing = true;
    }
  }

  #lose(): void {
    const { log, name } = this.#parts;
    log.warn({ name }, 'another node took over the leases of this one, which did not respond');
    this.#id = 0;
    this.#events?.onLost();
  }

  #observe(holders: readonly HolderState[], readAtMs: number): void {
    const nowMs = this.#parts.stopwatchMs();
    const isFirst = this.#readAtMs === undefined;
    const hadContact = !this.#failing && readAtMs - (this.#readAtMs ?? 0) < LAPSE_MS;
    const fromMs = isFirst || hadContact ? nowMs : nowMs + OUTAGE_GRACE_MS;
    this.#readAtMs = nowMs;
    const others = new Map<number, ObservedHolder>();
    for (const holder of holders) {
      if (holder.id === this.#id) continue;
      const known = hadContact ? this.#others.get(holder.id) : undefined;
      const isSilent = known?.heartbeats === holder.heartbeats;
      const silentFromMs = isSilent ? known.silentFromMs : fromMs;
      others.set(holder.id, { ...holder, silentFromMs });
      if (readAtMs - silentFromMs >= DEAD_MS) this.#startTakeover(holder);
    }
    this.#others = others;
  }

  /** One at a time, and not awaited by the heartbeat: with a large backlog it takes a while. */
  #startTakeover(dead: HolderState): void {
    this.#takeover ??= this.#takeOver(dead).finally(() => {
      this.#takeover = undefined;
    });
  }

  async #takeOver(dead: HolderState): Promise<void> {
    const { store, clock, log } = this.#parts;
    try {
      const leases = await store.takeOver(dead, clock.now());
      if (leases === undefined) return;
      log.warn({ name: dead.name, leases }, 'took over the leases of a node that does not respond');
      this.#events?.onTakeover();
    } catch (error) {
      log.warn({ err: error, name: dead.name }, 'taking over leases failed, retrying');
    }
  }

  #now(): Instant {
    return { stopwatchMs: this.#parts.stopwatchMs(), wallMs: this.#parts.systemClock.now() };
  }
}

interface ObservedHolder extends HolderState {
  silentFromMs: number;
}

interface Instant {
  stopwatchMs: number;
  wallMs: number;
}
