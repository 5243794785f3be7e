import { access, constants, mkdtemp, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Log } from '../../lib/log.ts';
import { usableMemory } from '../../lib/memory/usable-memory.ts';
import { mkdirp } from '../../lib/mkdirp.ts';
import { systemClock } from '../../lib/time/clock.ts';
import { isConnectionError, StorageStartError } from '../connections/database-errors.ts';
import { type Binaries, findBinaries } from './binaries.ts';
import { AlreadyClaimedError, type Claim, claim, type Holder } from './claim.ts';
import { adoptCluster, createCluster, EMBEDDED_USER } from './cluster.ts';
import { DataDirLock } from './data-dir-lock.ts';
import { embeddedSettings } from './postgres-settings.ts';
import {
  findPostmaster,
  type Launched,
  launchPostmaster,
  stopPostmaster,
  tailOf,
} from './postmaster.ts';
import { chooseRunAs, type RunAs, type RunAsMethod } from './run-as.ts';
import { type SocketFolder, shortSocketFolder } from './socket-path.ts';

/**
 * Starts, supervises and stops a real PostgreSQL in DATA_DIR/postgres. It guarantees that only one
 * server uses a folder, that a start after any crash continues with the committed data (taking over a
 * PostgreSQL that outlived the previous process), and that a PostgreSQL that dies is restarted.
 */
export interface EmbeddedPostgres extends AsyncDisposable {
  /** Only valid in this process: a long socket path is shortened with a process-local alias. */
  readonly connection: EmbeddedConnection;
  /** The process id of the postmaster, undefined while it is down. */
  readonly pid: number | undefined;
  /** Resolves with the reason if the database is lost permanently and the process must exit. */
  readonly lost: Promise<Error>;
  stop(): Promise<void>;
}

export interface EmbeddedConnection {
  host: string;
  port: number;
  user: string;
  database: string;
}

export interface EmbeddedOptions {
  dataDir: string;
  log: Log;
  /** A command shares the database with a running server; a server needs exclusive use. */
  holder?: Holder;
  /** Overrides PostgreSQL settings, for tests. */
  settings?: Readonly<Record<string, string>>;
  /** The methods to try as root, for tests. */
  methods?: readonly RunAsMethod[];
}

const DATABASE = 'postrider';
const BACKOFF_MIN_MS = 100;
const BACKOFF_MAX_MS = 10_000;

export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const dataDir = path.resolve(options.dataDir);
  await createDataDir(dataDir);
  const folder = path.join(dataDir, 'postgres');
  const launcher = new Launcher(options, folder);
  // A running PostgreSQL must not be touched: its files are in use.
  if (!(await launcher.isRunning())) {
    await checkWritable(dataDir);
    if (launcher.dataDirLock.acquire()) await launcher.prepare();
  }
  const server = new EmbeddedServer(options, folder, launcher);
  await server.start();
  return server;
}

async function createDataDir(dataDir: string): Promise<void> {
  try {
    await mkdirp(dataDir, 0o700);
  } catch (error) {
    throw new StorageStartError(
      `Cannot create DATA_DIR ${dataDir}: ${(error as Error).message}. Choose a folder that this user can write to.`,
    );
  }
  try {
    await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch {
    throw new StorageStartError(
      `DATA_DIR ${dataDir} is not writable by this user. Run as its owner, or set DATA_DIR to another folder.`,
    );
  }
}

/** Permissions are not enough: /proc, /sys or a full disk still reject files. */
async function checkWritable(dataDir: string): Promise<void> {
  try {
    await rmdir(await mkdtemp(path.join(dataDir, 'write-test-')));
  } catch (error) {
    throw new StorageStartError(
      `Cannot write to DATA_DIR ${dataDir}: ${(error as Error).message}. Set DATA_DIR to another folder.`,
    );
  }
}

interface LaunchEnvironment {
  binaries: Binaries;
  runAs: RunAs;
}

/** Creates the cluster and starts PostgreSQL. */
class Launcher {
  readonly logFile: string;
  readonly dataDirLock: DataDirLock;
  readonly #options: EmbeddedOptions;
  readonly #folder: string;
  #found: LaunchEnvironment | undefined;

  constructor(options: EmbeddedOptions, folder: string) {
    this.#options = options;
    this.#folder = folder;
    this.logFile = path.join(path.dirname(folder), 'postgres.log');
    this.dataDirLock = new DataDirLock(folder);
  }

  /** Whether PostgreSQL is running, here or in another container that shares the folder. */
  async isRunning(): Promise<boolean> {
    return findPostmaster(this.#folder) !== undefined || this.dataDirLock.isHeldElsewhere();
  }

  /** Creates the cluster if there is none. Must only be called at startup, never for a restart. */
  async prepare(): Promise<void> {
    const { binaries, runAs } = await this.#environment();
    await createCluster(this.#folder, binaries, runAs);
  }

  /** Returns undefined if another container started it first. */
  async launch(): Promise<Launched | undefined> {
    if (!this.dataDirLock.acquire()) return undefined;
    const { binaries, runAs } = await this.#environment();
    await adoptCluster(this.#folder, runAs);
    return launchPostmaster({
      binaries,
      runAs,
      folder: this.#folder,
      logFile: this.logFile,
      settings: { ...embeddedSettings(usableMemory()), ...this.#options.settings },
    });
  }

  async #environment(): Promise<LaunchEnvironment> {
    if (!this.#found) {
      const binaries = await findBinaries();
      const dataDir = path.dirname(this.#folder);
      this.#found = {
        binaries,
        runAs: await chooseRunAs(binaries, dataDir, this.#options.methods),
      };
    }
    return this.#found;
  }
}

class EmbeddedServer implements EmbeddedPostgres {
  readonly connection: EmbeddedConnection;
  readonly lost: Promise<Error>;
  readonly #options: EmbeddedOptions;
  readonly #folder: string;
  readonly #launcher: Launcher;
  readonly #socket: SocketFolder;
  readonly #giveUp: (reason: Error) => void;
  #claim: Claim | undefined;
  #stopping: Promise<void> | undefined;
  readonly #stopSignal = new AbortController();
  #watching: Promise<void> = Promise.resolve();

  constructor(options: EmbeddedOptions, folder: string, launcher: Launcher) {
    this.#options = options;
    this.#folder = folder;
    this.#launcher = launcher;
    this.#socket = shortSocketFolder(folder);
    this.connection = {
      host: this.#socket.path,
      port: 5432,
      user: EMBEDDED_USER,
      database: DATABASE,
    };
    const { promise, resolve } = Promise.withResolvers<Error>();
    this.lost = promise;
    this.#giveUp = resolve;
  }

  get pid(): number | undefined {
    return findPostmaster(this.#folder);
  }

  async start(): Promise<void> {
    try {
      this.#claim = await this.#startAndClaim();
      await createDatabase(this.connection);
    } catch (error) {
      this.#socket.release();
      throw error;
    }
    this.#watching = this.#watch();
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #stop(): Promise<void> {
    this.#stopSignal.abort();
    await this.#watching;
    const alone = (await this.#claim?.release()) ?? true;
    if (alone) {
      await stopPostmaster(this.#folder);
      this.#launcher.dataDirLock.release();
    } else this.#options.log.info('embedded PostgreSQL left running for another process');
    this.#socket.release();
  }

  /** Starts PostgreSQL if it is not running, waits until it is reachable, and claims it. */
  async #startAndClaim(): Promise<Claim> {
    for (;;) {
      await this.#waitUntilReachable();
      try {
        return await claim(this.connection, this.#options.holder ?? 'server');
      } catch (error) {
        if (error instanceof AlreadyClaimedError) throw dataDirTaken(this.#options, error);
        if (!isConnectionError(error)) throw unusable(error);
        // The last user was shutting it down: start it again.
      }
    }
  }

  /** Without a deadline: crash recovery takes as long as its WAL, and aborting it gains nothing. */
  async #waitUntilReachable(): Promise<void> {
    let launched: Launched | undefined;
    let loggedAt = systemClock.now();
    for (;;) {
      if (!(await this.#launcher.isRunning())) {
        if (launched?.hasEnded()) {
          const { logFile } = this.#launcher;
          throw new StorageStartError(
            `The embedded PostgreSQL did not start. Last lines of ${logFile}: ${tailOf(logFile)}`,
          );
        }
        launched ??= await this.#launcher.launch();
      } else if (await isReachable(this.connection)) {
        return;
      } else if (launched?.hasEnded()) {
        // Another process started it first. If that one ends, try again.
        launched = undefined;
      }
      if (systemClock.now() - loggedAt > 5_000) {
        this.#options.log.info('waiting for embedded PostgreSQL to recover');
        loggedAt = systemClock.now();
      }
      await sleep(20);
    }
  }

  /** Restarts PostgreSQL whenever the claim is lost, until stopped. */
  async #watch(): Promise<void> {
    const { log } = this.#options;
    const stopped = new Promise<void>((resolve) => {
      this.#stopSignal.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    let backoffMs = BACKOFF_MIN_MS;
    while (!this.#stopSignal.signal.aborted) {
      const upAt = systemClock.now();
      await Promise.race([stopped, this.#claim?.lost]);
      if (this.#stopSignal.signal.aborted) return;
      if (systemClock.now() - upAt > 60_000) backoffMs = BACKOFF_MIN_MS;
      log.warn('embedded PostgreSQL exited: restarting it');
      await sleep(backoffMs, undefined, { signal: this.#stopSignal.signal }).catch(() => {});
      backoffMs = Math.min(backoffMs * 2, BACKOFF_MAX_MS);
      if (this.#stopSignal.signal.aborted) return;
      try {
        this.#claim = await this.#startAndClaim();
        log.info({ pid: this.pid }, 'embedded PostgreSQL restarted');
      } catch (error) {
        log.error({ err: error }, 'embedded PostgreSQL could not be restarted');
        if (error instanceof DataDirTakenError) return this.#giveUp(error);
      }
    }
  }
}

class DataDirTakenError extends StorageStartError {}

function dataDirTaken(options: EmbeddedOptions, error: AlreadyClaimedError): DataDirTakenError {
  const holder = error.holderPid === undefined ? '' : ` (process ${error.holderPid})`;
  return new DataDirTakenError(
    `Another Postrider server${holder} is already using DATA_DIR ${path.resolve(options.dataDir)}. Stop it first, or set a different DATA_DIR.`,
  );
}

function unusable(error: unknown): StorageStartError {
  return new StorageStartError(
    `The embedded PostgreSQL cannot be used: ${(error as Error).message}.`,
    { cause: error },
  );
}

async function isReachable(connection: EmbeddedConnection): Promise<boolean> {
  const client = new pg.Client({
    ...connection,
    database: 'postgres',
    connectionTimeoutMillis: 5_000,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.end();
    return true;
  } catch (error) {
    if (isConnectionError(error)) return false;
    throw unusable(error);
  }
}

async function createDatabase(connection: EmbeddedConnection): Promise<void> {
  const client = new pg.Client({ ...connection, database: 'postgres' });
  client.on('error', () => {});
  await client.connect();
  try {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [
      connection.database,
    ]);
    if (rowCount === 0) await client.query(`create database ${connection.database}`);
  } catch (error) {
    // A command and a server that start concurrently may both try to create it.
    if (!['42P04', '23505'].includes((error as pg.DatabaseError).code ?? '')) throw error;
  } finally {
    await client.end();
  }
}
