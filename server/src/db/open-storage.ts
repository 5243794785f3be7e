import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { refuseSharedSessions, refuseUnsafeDatabase } from './database-safety.ts';
import { type Places, placesOf } from './database-url.ts';
import { type EmbeddedPostgres, startEmbedded } from './embedded-postgres.ts';
import { openPool, type Pool } from './pool.ts';
import { loadSecretKey } from './secret-key.ts';
import { StorageStartError } from './start-error.ts';
import { isStorageGone, NoConnectionError } from './storage-gone.ts';

/**
 * The one door to storage for the server and for commands: from the configuration to a pool that
 * answers, whether the database is ours or the operator's. Schema and partitions are the caller's
 * next steps (migrate.ts, partitions.ts).
 */
export interface Storage extends AsyncDisposable {
  readonly pool: Pool;
  /** For connections of their own, as `listen` makes. */
  readonly places: Places;
  readonly secretKey: Buffer;
  /** Settles, with the reason, only when the database is lost for good and we must end. */
  readonly lost: Promise<Error>;
  stop(): Promise<void>;
}

export interface StorageOptions {
  dataDir: string;
  databaseUrl: string | undefined;
  connectionsMax: number;
  allowUnsafe: boolean;
  secretKey: Buffer | undefined;
  log: Log;
  /** A command shares the database with a server that runs; a server wants the folder to itself. */
  holder: 'server' | 'command';
  /** Ends the wait for a database that does not answer. */
  leaving?: AbortSignal;
}

export async function openStorage(options: StorageOptions): Promise<Storage> {
  const embedded = options.databaseUrl === undefined ? await startEmbedded(options) : undefined;
  try {
    return await connect(options, embedded);
  } catch (error) {
    await embedded?.stop();
    throw error;
  }
}

async function connect(
  options: StorageOptions,
  embedded: EmbeddedPostgres | undefined,
): Promise<Storage> {
  const places = embedded ? ([embedded.connection] as const) : placesOf(options.databaseUrl ?? '');
  const secretKey = options.secretKey ?? (embedded && (await loadSecretKey(options.dataDir)));
  if (!secretKey) throw new StorageStartError('SECRET_KEY is needed with DATABASE_URL.');
  const pool = openPool({
    places,
    log: options.log,
    max: options.connectionsMax,
    applicationName: `postrider ${options.holder}`,
  });
  try {
    await firstAnswer(pool, options);
    if (!embedded) await refuseSharedSessions(pool);
    await refuseUnsafeDatabase(pool, options);
  } catch (error) {
    await pool.end();
    throw error;
  }
  return new OpenStorage(pool, places, secretKey, embedded);
}

/** Databases and servers are often started together, so a server waits a while for its own. */
const FIRST_ANSWER_WITHIN_MS = { server: 30_000, command: 5_000 };

async function firstAnswer(pool: Pool, options: StorageOptions): Promise<void> {
  const { holder, log, leaving } = options;
  const deadline = systemClock.now() + FIRST_ANSWER_WITHIN_MS[holder];
  let toldAt = 0;
  for (;;) {
    try {
      await pool.query('select');
      return;
    } catch (error) {
      const reason = reasonOf(error);
      if (!mayPass(error) || systemClock.now() > deadline) {
        throw new StorageStartError(`The database at DATABASE_URL does not answer: ${reason}.`, {
          cause: error,
        });
      }
      if (systemClock.now() - toldAt > 5_000) {
        log.warn({ reason }, 'waiting for the database');
        toldAt = systemClock.now();
      }
      await sleep(200, undefined, leaving ? { signal: leaving } : {});
    }
  }
}

/** Waiting does not help against a wrong password or name. */
function mayPass(error: unknown): boolean {
  return isStorageGone(error instanceof NoConnectionError ? error.cause : error);
}

function reasonOf(error: unknown): string {
  if (error instanceof NoConnectionError) return reasonOf(error.cause);
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ');
  return error instanceof Error ? error.message : String(error);
}

class OpenStorage implements Storage {
  readonly pool: Pool;
  readonly places: Places;
  readonly secretKey: Buffer;
  readonly lost: Promise<Error>;
  readonly #embedded: EmbeddedPostgres | undefined;

  constructor(
    pool: Pool,
    places: Places,
    secretKey: Buffer,
    embedded: EmbeddedPostgres | undefined,
  ) {
    this.pool = pool;
    this.places = places;
    this.secretKey = secretKey;
    this.#embedded = embedded;
    this.lost = embedded?.lost ?? new Promise(() => {});
  }

  async stop(): Promise<void> {
    // A connection that somebody still holds must not hold up the rest.
    if (!this.pool.ending)
      await Promise.race([this.pool.end(), sleep(5_000, undefined, { ref: false })]);
    await this.#embedded?.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
