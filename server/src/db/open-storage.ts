import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../lib/log.ts';
import { systemClock } from '../lib/time/clock.ts';
import {
  isConnectionError,
  NoConnectionError,
  StorageStartError,
} from './connections/database-errors.ts';
import {
  checkDatabaseSettings,
  checkDedicatedSessions,
} from './connections/database-requirements.ts';
import { type DatabaseHosts, parseDatabaseUrl } from './connections/database-url.ts';
import { openPool, type Pool } from './connections/pool.ts';
import { type EmbeddedPostgres, startEmbedded } from './embedded/embedded-postgres.ts';
import { loadSecretKey } from './secret-key.ts';

/**
 * Opens the database for the server and for commands, embedded or external, and returns a connected
 * pool. The caller then migrates the schema (migrate.ts) and creates partitions (partitions.ts).
 */
export interface Storage extends AsyncDisposable {
  readonly pool: Pool;
  /** For dedicated connections, such as that of `listen`. */
  readonly hosts: DatabaseHosts;
  readonly secretKey: Buffer;
  /** No other server can be using the database, because a server holds the embedded one alone. */
  readonly exclusive: boolean;
  /** Resolves with the reason if the database is lost permanently and the process must exit. */
  readonly lost: Promise<Error>;
  stop(): Promise<void>;
}

export interface StorageOptions {
  dataDir: string;
  databaseUrl: string | undefined;
  /** Of an external database. */
  schema?: string | undefined;
  connectionsMax: number;
  allowUnsafe: boolean;
  secretKey: Buffer | undefined;
  log: Log;
  /** A command shares the database with a running server; a server needs exclusive use. */
  holder: 'server' | 'command';
  /** Ends the wait for an unreachable database. */
  signal?: AbortSignal;
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
  const hosts = embedded
    ? ([embedded.connection] as const)
    : parseDatabaseUrl(options.databaseUrl ?? '', options);
  const secretKey = options.secretKey ?? (embedded && (await loadSecretKey(options.dataDir)));
  if (!secretKey) throw new StorageStartError('SECRET_KEY is required with DATABASE_URL.');
  const pool = openPool({
    hosts: hosts,
    log: options.log,
    max: options.connectionsMax,
    applicationName: `postrider ${options.holder}`,
    isServer: options.holder === 'server',
  });
  try {
    await waitUntilReachable(pool, options);
    if (!embedded) await checkDedicatedSessions(pool);
    await checkDatabaseSettings(pool, options);
  } catch (error) {
    await pool.end();
    throw error;
  }
  const exclusive = embedded !== undefined && options.holder === 'server';
  return new OpenStorage(pool, hosts, secretKey, exclusive, embedded);
}

/** A server and its database are often started together, so the server waits for a while. */
const REACHABLE_WITHIN_MS = { server: 30_000, command: 5_000 };

async function waitUntilReachable(pool: Pool, options: StorageOptions): Promise<void> {
  const { holder, log, signal } = options;
  const deadline = systemClock.now() + REACHABLE_WITHIN_MS[holder];
  let loggedAt = 0;
  for (;;) {
    try {
      await pool.query('select');
      return;
    } catch (error) {
      const reason = reasonOf(error);
      const isUnreachable = isWorthRetrying(error);
      if (!isUnreachable || systemClock.now() > deadline) {
        const fix = isUnreachable
          ? 'Check that PostgreSQL is running, and the host and port in DATABASE_URL.'
          : 'Check the user, password and database in DATABASE_URL.';
        throw new StorageStartError(
          `Cannot connect to the database at DATABASE_URL: ${reason}. ${fix}`,
          { cause: error },
        );
      }
      if (systemClock.now() - loggedAt > 5_000) {
        log.warn({ reason }, 'waiting for the database');
        loggedAt = systemClock.now();
      }
      await sleep(200, undefined, signal ? { signal } : {});
    }
  }
}

/** Waiting does not help with a wrong password or database name. */
function isWorthRetrying(error: unknown): boolean {
  return isConnectionError(error instanceof NoConnectionError ? error.cause : error);
}

function reasonOf(error: unknown): string {
  if (error instanceof NoConnectionError) return reasonOf(error.cause);
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ');
  return error instanceof Error ? error.message : String(error);
}

class OpenStorage implements Storage {
  readonly pool: Pool;
  readonly hosts: DatabaseHosts;
  readonly secretKey: Buffer;
  readonly exclusive: boolean;
  readonly lost: Promise<Error>;
  readonly #embedded: EmbeddedPostgres | undefined;

  constructor(
    pool: Pool,
    hosts: DatabaseHosts,
    secretKey: Buffer,
    exclusive: boolean,
    embedded: EmbeddedPostgres | undefined,
  ) {
    this.pool = pool;
    this.hosts = hosts;
    this.secretKey = secretKey;
    this.exclusive = exclusive;
    this.#embedded = embedded;
    this.lost = embedded?.lost ?? new Promise(() => {});
  }

  async stop(): Promise<void> {
    // A connection that is still in use must not delay the shutdown.
    if (!this.pool.ending)
      await Promise.race([this.pool.end(), sleep(5_000, undefined, { ref: false })]);
    await this.#embedded?.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
