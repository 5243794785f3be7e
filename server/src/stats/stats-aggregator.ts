import type { TenantScope } from '../accounts/tenant-scope.ts';
import type { Pool } from '../db/connections/pool.ts';
import { checkRetentionClock } from '../db/retention-clock.ts';
import {
  type BatchLimits,
  type EventChunk,
  type EventRange,
  readNextBatch,
  takeChunk,
  takeOverChunk,
} from '../events/event-chunk-store.ts';
import type { Log } from '../lib/log.ts';
import { inParallel, WorkLoop } from '../lib/scheduling/work-loop.ts';
import type { Clock } from '../lib/time/clock.ts';
import type { CountBucket, Dimension } from './count-buckets.ts';
import { countEvents } from './count-events.ts';
import { appendedRow } from './counts-row.ts';
import { findUnfolded, foldCounts } from './fold-counts-store.ts';
import { HeldCounts } from './held-counts.ts';
import {
  type AcceptedMessages,
  deleteOldCounts,
  readKnownValues,
  readUncounted,
  writeCountsOfBatch,
} from './stats-store.ts';

/**
 * Consumes the event log and keeps counts. Events come in, rows of counts go out, in one commit
 * with the consumer's cursor: after a crash at any moment it continues without counting an event
 * twice or skipping one.
 */
export interface StatsAggregatorParts {
  pool: Pool;
  clock: Clock;
  log: Log;
}

const BATCH_SIZE = 2_000;
const BATCH_BYTES_MAX = 16 * 2 ** 20;
/** PostgreSQL reads the next one while this process counts the last one. */
const CHUNKS_AT_ONCE = 2;
/** Gives the process a chance to stop. */
const CHUNKS_PER_RUN = 10;
/** Counts may lag a little, so that many events become one write. */
const SPACING_MS = 1_000;
/**
 * And a little longer while there are thousands of events a second, of as many workspaces, which would append
 * a row for nearly every message.
 */
const HELD_MS = 10_000;
const HELD_EVENTS_PER_ROW_MAX = 8;
/** Each takes about 2 KB of memory. */
const HELD_ROWS_MAX = 20_000;
const CHUNK_SECONDS = 10 + HELD_MS / 1_000;
/** A workspace that is about to move waits until its events are counted. */
const MOVE_MS = 30_000;
/** Events wake it; this finds those that were appended without a notification. */
const POLL_MS = 5_000;
/**
 * How many rows a workspace appends, on average, until they are added up. Each costs a reader some
 * microseconds, and more of them at once make adding them cheaper.
 */
const APPENDED_MAX = 64;
const APPENDED_KEPT_MS = 3_600_000;
const DAY_MS = 86_400_000;
const MINUTES_KEPT_MS = 2 * DAY_MS;
export const HOURS_KEPT_DAYS = 90;
/** A tenant that tags every message with a unique value must not fill the tables. */
const VALUES_PER_DIMENSION_MAX = 500;
const KNOWN_VALUES_TTL_MS = 600_000;
/** In each mode. */
const KNOWN_SCOPES_MAX = 20_000;
/** Each may have 500 values in each of four dimensions. */
const SCOPES_PER_READ = 100;
export const OTHER_VALUES = '(other)';

export class StatsAggregator {
  readonly #parts: StatsAggregatorParts;
  readonly #loop: WorkLoop;
  /** By mode and workspace. Those that were read first are first. */
  readonly #known = { live: new Map<string, KnownValues>(), test: new Map<string, KnownValues>() };
  readonly #accepted: AcceptedMessages = new Map();
  /** Batches, and held chunks, that this process has written. */
  readonly #written = { batches: 0, held: 0 };
  #held: HeldCounts | undefined;
  #holdsNothingUntilMs = 0;

  constructor(parts: StatsAggregatorParts) {
    this.#parts = parts;
    this.#loop = new WorkLoop({
      clock: parts.clock,
      log: parts.log,
      task: 'counting events',
      work: () => this.#aggregate(BATCH_SIZE, HELD_MS),
      idleMs: POLL_MS,
      firstDelayMs: SPACING_MS,
      minIntervalMs: () => SPACING_MS,
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** Events were appended to the event log. */
  wake(): void {
    this.#loop.wake();
  }

  /** Counts at once, because a workspace waits for it. */
  hurry(): void {
    this.#holdsNothingUntilMs = this.#parts.clock.now() + MOVE_MS;
    this.wake();
  }

  /** What cannot be written is counted again, by another node or after the next start. */
  async stop(): Promise<void> {
    await this.#loop.stop();
    const { pool, log } = this.#parts;
    try {
      await this.#held?.write(pool);
    } catch (err) {
      log.warn({ err }, 'counts could not be written: their events are counted again');
    }
    this.#held = undefined;
  }

  /** Counts the next events. Returns true when there may be more. */
  aggregateNext(eventsMax = BATCH_SIZE): Promise<boolean> {
    return this.#aggregate(eventsMax, 0);
  }

  async #aggregate(eventsMax: number, heldMs: number): Promise<boolean> {
    const { pool, clock } = this.#parts;
    const limits = { eventsMax, bytesMax: BATCH_BYTES_MAX };
    const next = await readNextBatch(pool, 'statistics', limits);
    if (next.isChunkDue) {
      const chunk = await takeOverChunk(pool, 'statistics');
      if (chunk) await this.#writeChunk(chunk, await this.#count(chunk));
      return true;
    }
    if (next.more) {
      const more = await inParallel(CHUNKS_AT_ONCE, () => this.#countChunks(limits));
      const nowMs = clock.now();
      // Also after the clock was set back, because others take the chunks over in the meantime.
      const isDue = this.#held && Math.abs(nowMs - this.#held.sinceMs) >= heldMs;
      if (isDue || nowMs < this.#holdsNothingUntilMs) await this.#writeHeld();
      return more;
    }
    await this.#writeHeld();
    // False if another node was faster, which then continues.
    if (next.events === 0) return false;
    const minutes = await this.#count(next);
    if (await writeCountsOfBatch(pool, next, minutes.map(appendedRow))) {
      this.#written.batches += 1;
      await this.#foldFrequent(minutes, this.#written.batches);
    }
    return false;
  }

  /** Returns true when there may be more. */
  async #countChunks(limits: BatchLimits): Promise<boolean> {
    for (let n = 0; n < CHUNKS_PER_RUN; n++) {
      const chunk = await takeChunk(this.#parts.pool, 'statistics', limits, CHUNK_SECONDS);
      if (chunk) await this.#countChunk(chunk);
      if (!chunk?.more) return false;
    }
    return true;
  }

  /** One that fails is repeated when it is due again, by this node or another. */
  async #countChunk(chunk: EventChunk): Promise<void> {
    const minutes = await this.#count(chunk);
    if (chunk.events > minutes.length * HELD_EVENTS_PER_ROW_MAX) {
      await this.#writeChunk(chunk, minutes);
      return;
    }
    this.#held ??= new HeldCounts(this.#parts.clock.now());
    this.#held.add(chunk, minutes);
    if (this.#held.rows >= HELD_ROWS_MAX) await this.#writeHeld();
  }

  async #writeChunk(chunk: EventChunk, minutes: readonly CountBucket[]): Promise<void> {
    const counts = new HeldCounts(this.#parts.clock.now());
    counts.add(chunk, minutes);
    this.#written.batches += 1;
    await this.#foldFrequent(await counts.write(this.#parts.pool), this.#written.batches);
  }

  async #writeHeld(): Promise<void> {
    const held = this.#held;
    if (!held) return;
    this.#held = undefined;
    this.#written.held += 1;
    await this.#foldFrequent(await held.write(this.#parts.pool), this.#written.held);
  }

  /**
   * Values that a workspace has used before are counted without reading anything. Only if it uses another
   * one, and what is known of it is not current, its values are read, and everything is counted again.
   */
  async #count(range: EventRange): Promise<CountBucket[]> {
    const events = await readUncounted(this.#parts.pool, range, this.#accepted);
    const nowMs = this.#parts.clock.now();
    for (;;) {
      const unread = new Map<string, TenantScope>();
      const minutes = countEvents(events, (event, dimension, value) => {
        if (!isUserDefined(dimension)) return value;
        const known = this.#known[event.mode].get(event.workspaceId);
        const values = known?.values[dimension];
        if (values?.has(value)) return value;
        if (known && values && nowMs - known.readAtMs < KNOWN_VALUES_TTL_MS) {
          return addLabel(values, value);
        }
        const { workspaceId, mode } = event;
        unread.set(`${workspaceId} ${mode}`, { workspaceId, mode });
        return value;
      });
      if (unread.size === 0) return minutes;
      await this.#readValues([...unread.values()], nowMs);
    }
  }

  /**
   * Adds the appended counts of one in 64 of the workspaces in a batch, which are others in each of 64
   * batches. So every workspace is added after about 64 rows, without a count of the rows of each. `written` is
   * the number of batches of the same kind, so that none of the workspaces of a kind is left out.
   */
  async #foldFrequent(minutes: readonly CountBucket[], written: number): Promise<void> {
    const due = new Map<string, TenantScope>();
    for (const { workspaceId, mode } of minutes) {
      const isDue = (written - randomPartOf(workspaceId)) % APPENDED_MAX === 0;
      if (isDue) due.set(`${workspaceId} ${mode}`, { workspaceId, mode });
    }
    if (due.size > 0) await foldCounts(this.#parts.pool, [...due.values()]);
  }

  /** Adds the appended counts of workspaces that send rarely. */
  async foldOld(): Promise<void> {
    const { pool, clock } = this.#parts;
    for (;;) {
      const beforeMs = clock.now() - APPENDED_KEPT_MS;
      const scopes = await findUnfolded(pool, beforeMs, SCOPES_PER_READ);
      if (scopes.length === 0) return;
      await foldCounts(pool, scopes);
    }
  }

  /** Minutes are kept for two days, hours for 90 days, days forever. */
  async deleteOld(): Promise<void> {
    const { pool, clock } = this.#parts;
    const time = await checkRetentionClock(pool, clock.now());
    if (!('nowMs' in time)) return;
    await deleteOldCounts(pool, {
      minutesBeforeMs: time.nowMs - MINUTES_KEPT_MS,
      hoursBeforeMs: time.nowMs - HOURS_KEPT_DAYS * DAY_MS,
    });
  }

  async #readValues(scopes: readonly TenantScope[], nowMs: number): Promise<void> {
    const { pool } = this.#parts;
    const sinceMs = nowMs - 7 * DAY_MS;
    const max = VALUES_PER_DIMENSION_MAX;
    for (let at = 0; at < scopes.length; at += SCOPES_PER_READ) {
      const some = scopes.slice(at, at + SCOPES_PER_READ);
      const rows = await readKnownValues(pool, some, USER_DEFINED, sinceMs, max);
      for (const { workspaceId, mode } of some) {
        this.#known[mode].delete(workspaceId);
        this.#known[mode].set(workspaceId, { readAtMs: nowMs, values: noValues() });
      }
      for (const { workspace_id, mode, dimension, values } of rows) {
        const known = this.#known[mode].get(workspace_id)?.values[dimension];
        for (const value of values) known?.add(value);
      }
    }
    for (const known of Object.values(this.#known)) {
      for (const key of known.keys()) {
        if (known.size <= KNOWN_SCOPES_MAX) break;
        known.delete(key);
      }
    }
  }
}

/** From 0 to 255. */
function randomPartOf(uuid: string): number {
  return Number.parseInt(uuid.slice(-2), 16);
}

function noValues(): ValueSets {
  return { stream: new Set(), tag: new Set(), template: new Set(), domain: new Set() };
}

/** Dimensions whose values tenants choose. */
const USER_DEFINED = ['stream', 'tag', 'template', 'domain'] as const;
type UserDefinedDimension = (typeof USER_DEFINED)[number];

type ValueSets = Readonly<Record<UserDefinedDimension, Set<string>>>;

interface KnownValues {
  readAtMs: number;
  values: ValueSets;
}

function isUserDefined(dimension: Dimension): dimension is UserDefinedDimension {
  return (USER_DEFINED as readonly Dimension[]).includes(dimension);
}

/** The label under which a value is counted that was not known. */
function addLabel(known: Set<string>, value: string): string {
  if (known.size >= VALUES_PER_DIMENSION_MAX) return OTHER_VALUES;
  known.add(value);
  return value;
}
