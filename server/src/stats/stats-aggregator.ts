import type { Mode } from '../accounts/tenant-scope.ts';
import type { Pool } from '../db/pool.ts';
import { checkRetentionClock } from '../db/retention-clock.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { WorkLoop } from '../lib/work-loop.ts';
import { type CountedEvent, countEvents, type Dimension } from './count-events.ts';
import { deleteOldCounts, knownValues, readUncounted, writeCounts } from './stats-store.ts';

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
/** Counts may lag a little, so that many events become one write. */
const SPACING_MS = 1_000;
const DAY_MS = 86_400_000;
const MINUTES_KEPT_MS = 2 * DAY_MS;
const HOURS_KEPT_MS = 90 * DAY_MS;
/** A tenant that tags every message with a unique value must not fill the tables. */
const VALUES_PER_DIMENSION_MAX = 500;
const KNOWN_VALUES_TTL_MS = 600_000;
const OTHER_VALUES = '(other)';

export class StatsAggregator {
  readonly #parts: StatsAggregatorParts;
  readonly #loop: WorkLoop;
  /** Known values by workspace and mode. */
  readonly #known = new Map<string, KnownValues>();

  constructor(parts: StatsAggregatorParts) {
    this.#parts = parts;
    this.#loop = new WorkLoop({
      clock: parts.clock,
      log: parts.log,
      task: 'counting events',
      work: () => this.aggregateNext(),
      idleMs: SPACING_MS,
      minIntervalMs: () => SPACING_MS,
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Counts the next batch. Returns true when there may be more. */
  async aggregateNext(eventsMax = BATCH_SIZE): Promise<boolean> {
    const { pool } = this.#parts;
    const batch = await readUncounted(pool, eventsMax);
    if (batch.scanned === 0) return false;
    const knownOf = await this.#loadKnownValues(batch.events);
    const counts = countEvents(batch.events, (event, dimension, value) =>
      isUserDefined(dimension) ? labelFor(knownOf(event)[dimension], value) : value,
    );
    const written = await writeCounts(pool, batch, counts);
    // Another node was faster and continues: two competing nodes would do all work twice.
    return written && batch.scanned === eventsMax;
  }

  /** Minutes are kept for two days, hours for 90 days, days forever. */
  async deleteOld(): Promise<void> {
    const { pool, clock } = this.#parts;
    const time = await checkRetentionClock(pool, clock.now());
    if (!('nowMs' in time)) return;
    await deleteOldCounts(pool, 'minute', time.nowMs - MINUTES_KEPT_MS);
    await deleteOldCounts(pool, 'hour', time.nowMs - HOURS_KEPT_MS);
  }

  /** The known values of the workspaces in these events. */
  async #loadKnownValues(
    events: readonly CountedEvent[],
  ): Promise<(event: CountedEvent) => KnownValues['values']> {
    const nowMs = this.#parts.clock.now();
    if (this.#known.size > 10_000) this.#known.clear();
    const loaded = { live: new Map<string, KnownValues>(), test: new Map<string, KnownValues>() };
    for (const { workspaceId, mode } of events) {
      if (loaded[mode].has(workspaceId)) continue;
      loaded[mode].set(workspaceId, await this.#valuesOf(workspaceId, mode, nowMs));
    }
    return ({ workspaceId, mode }) => (loaded[mode].get(workspaceId) as KnownValues).values;
  }

  async #valuesOf(workspaceId: string, mode: Mode, nowMs: number): Promise<KnownValues> {
    const key = `${workspaceId} ${mode}`;
    const known = this.#known.get(key);
    if (known && nowMs - known.readAtMs < KNOWN_VALUES_TTL_MS) return known;
    const { pool } = this.#parts;
    const read = async (dimension: UserDefinedDimension): Promise<Set<string>> => {
      const sinceMs = nowMs - 7 * DAY_MS;
      return new Set(
        await knownValues(
          pool,
          { workspaceId, mode },
          dimension,
          sinceMs,
          VALUES_PER_DIMENSION_MAX,
        ),
      );
    };
    const values = {
      stream: await read('stream'),
      tag: await read('tag'),
      template: await read('template'),
      domain: await read('domain'),
    };
    const fresh = { readAtMs: nowMs, values };
    this.#known.set(key, fresh);
    return fresh;
  }
}

/** Dimensions whose values tenants choose. */
const USER_DEFINED = ['stream', 'tag', 'template', 'domain'] as const;
type UserDefinedDimension = (typeof USER_DEFINED)[number];

interface KnownValues {
  readAtMs: number;
  values: Readonly<Record<UserDefinedDimension, Set<string>>>;
}

function isUserDefined(dimension: Dimension): dimension is UserDefinedDimension {
  return (USER_DEFINED as readonly Dimension[]).includes(dimension);
}

/** The label under which a value is counted. */
function labelFor(known: Set<string>, value: string): string {
  if (known.has(value)) return value;
  if (known.size >= VALUES_PER_DIMENSION_MAX) return OTHER_VALUES;
  known.add(value);
  return value;
}
