import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../lib/log.ts';
import { PeriodicTasks } from '../../lib/scheduling/periodic-tasks.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { isConnectionError, isTransientError, StorageStartError } from './database-errors.ts';
import { parseDatabaseUrl } from './database-url.ts';
import { openPool, type Pool } from './pool.ts';

/** Where reads run that may be a few seconds old, such as lists and statistics. */
export interface Reads {
  /** The work may run twice, so it must only read. */
  run<T>(work: (pool: Pool) => Promise<T>): Promise<T>;
}

/** Without a standby, everything is read from the primary. */
export function readsFromPrimary(pool: Pool): Reads {
  return { run: (work) => work(pool) };
}

export interface ReadReplicaOptions {
  readUrl: string;
  primary: Pool;
  connectionsMax: number;
  clock: Clock;
  log: Log;
}

const CHECK_INTERVAL_MS = 1_000;
/** A standby that is further behind is not used. */
const LAG_MAX_MS = 10_000;
const POSITIONS_MAX = 60;
const FIRST_CHECKS_MAX = 20;
const FIRST_CHECKS_INTERVAL_MS = 50;

/**
 * The standby of DATABASE_READ_URL. Reads go to the primary while the standby is unreachable or too far
 * behind. How far it is behind follows from the positions of the two write-ahead logs: the times of the
 * server's last transactions would make an idle one look late.
 */
export class ReadReplica implements Reads, AsyncDisposable {
  readonly pool: Pool;
  readonly #primary: Pool;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #tasks: PeriodicTasks;
  /** Recent positions of the primary that the standby has not reached, oldest first. */
  #ahead: { atMs: number; position: number }[] = [];
  /** The standby has everything that was committed before this time. */
  #completeUntilMs: number | undefined;
  #isUsed = false;

  private constructor(options: ReadReplicaOptions) {
    this.#primary = options.primary;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#tasks = new PeriodicTasks(options);
    this.pool = openPool({
      hosts: parseDatabaseUrl(options.readUrl, {
        schema: options.primary.schema,
        setting: 'DATABASE_READ_URL',
      }),
      log: options.log,
      max: options.connectionsMax,
      applicationName: 'postrider reads',
      role: 'standby',
    });
  }

  /** An unreachable standby does not prevent the start; another database does. */
  static async open(options: ReadReplicaOptions): Promise<ReadReplica> {
    const replica = new ReadReplica(options);
    try {
      await replica.#waitUntilUsed();
    } catch (error) {
      await replica.pool.end();
      if (error instanceof StorageStartError) throw error;
      throw new StorageStartError(
        `Cannot compare DATABASE_READ_URL with DATABASE_URL: ${(error as Error).message}.`,
        { cause: error },
      );
    }
    if (!replica.isUsed) options.log.warn('standby is not ready: reads use the primary');
    replica.#tasks.schedule(CHECK_INTERVAL_MS, 'compare the standby', async () => {
      await replica.#check();
    });
    return replica;
  }

  async run<T>(work: (pool: Pool) => Promise<T>): Promise<T> {
    if (!this.#isUsed) return work(this.#primary);
    try {
      return await work(this.pool);
    } catch (error) {
      // Replay can cancel a read of rows that were deleted. A slow read would be slow again.
      if (!isTransientError(error) || isTimeout(error)) throw error;
      if (isConnectionError(error)) this.#use(false, { err: error });
      return work(this.#primary);
    }
  }

  get isUsed(): boolean {
    return this.#isUsed;
  }

  /** How old the data of the standby is; undefined before it was ever reached. */
  get lagMs(): number | undefined {
    if (this.#completeUntilMs === undefined) return undefined;
    return this.#ahead.length === 0 ? 0 : this.#clock.now() - this.#completeUntilMs;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tasks.stop();
    await this.pool.end();
  }

  /** A standby that keeps up reaches the first position within milliseconds. */
  async #waitUntilUsed(): Promise<void> {
    for (let left = FIRST_CHECKS_MAX; left > 0; left -= 1) {
      const isReachable = await this.#check();
      if (this.#isUsed || !isReachable) return;
      await sleep(FIRST_CHECKS_INTERVAL_MS);
    }
  }

  /** Returns whether both servers answered. */
  async #check(): Promise<boolean> {
    const atMs = this.#clock.now();
    let primary: LogPosition;
    try {
      primary = await readLogPosition(this.#primary);
    } catch (error) {
      // An outage of the primary is reported elsewhere, and its standby is as good as before.
      if (isConnectionError(error)) return false;
      throw error;
    }
    this.#ahead = [...this.#ahead, { atMs, position: primary.position }].slice(-POSITIONS_MAX);
    let standby: LogPosition;
    try {
      standby = await readLogPosition(this.pool);
    } catch (error) {
      if (!isConnectionError(error)) throw error;
      this.#use(false, { err: error });
      return false;
    }
    if (standby.cluster !== primary.cluster) {
      this.#use(false, {});
      throw notAStandby();
    }
    // The newest position that was reached: those of a primary that was lost may never be.
    const reached = this.#ahead.findLastIndex(({ position }) => position <= standby.position);
    this.#completeUntilMs = this.#ahead[reached]?.atMs ?? this.#completeUntilMs;
    this.#ahead = this.#ahead.slice(reached + 1);
    const { lagMs } = this;
    this.#use(lagMs !== undefined && lagMs <= LAG_MAX_MS, { lagMs });
    return true;
  }

  #use(isUsed: boolean, details: object): void {
    if (this.#isUsed === isUsed) return;
    this.#isUsed = isUsed;
    if (isUsed) this.#log.info(details, 'reads use the standby');
    else this.#log.warn(details, 'standby is unreachable or behind: reads use the primary');
  }
}

interface LogPosition {
  cluster: string;
  /** The last byte of the write-ahead log that is visible to reads. */
  position: number;
}

async function readLogPosition(pool: Pool): Promise<LogPosition> {
  const { rows } = await pool.query<LogPosition>(
    `select (select system_identifier::text from pg_control_system()) as cluster,
            pg_wal_lsn_diff(
              case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end,
              '0/0')::float8 as position`,
  );
  const [row] = rows as [LogPosition];
  return row;
}

function notAStandby(): StorageStartError {
  return new StorageStartError(
    'DATABASE_READ_URL is not a standby of the database at DATABASE_URL. Use a streaming replica of the same PostgreSQL cluster.',
  );
}

function isTimeout(error: unknown): boolean {
  return (error as { code?: unknown }).code === '57014';
}
