import { access, constants, mkdtemp, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { systemClock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { makeFolder } from '../lib/make-folder.ts';
import { type Binaries, findBinaries } from './embedded/binaries.ts';
import { AlreadyClaimedError, type Claim, claim, type Holder } from './embedded/claim.ts';
import { adoptCluster, createCluster, EMBEDDED_USER } from './embedded/cluster.ts';
import {
  findPostmaster,
  type Launched,
  launchPostmaster,
  stopPostmaster,
  tailOf,
} from './embedded/postmaster.ts';
import { chooseRunAs, type RunAs, type Way } from './embedded/run-as.ts';
import { EMBEDDED_SETTINGS } from './embedded/settings.ts';
import { type SocketFolder, shortSocketFolder } from './embedded/socket.ts';
import { Whereabouts } from './embedded/whereabouts.ts';
import { StorageStartError } from './start-error.ts';
import { isStorageGone } from './storage-gone.ts';

/**
 * A real PostgreSQL in DATA_DIR/postgres that we start, watch and stop. In comes a folder, out goes
 * a connection. It promises: one server a folder; a start after any crash, ours or PostgreSQL's, goes
 * on with the data that was committed, taking over a PostgreSQL that outlived us; one that dies
 * while we run is started again.
 */
export interface EmbeddedPostgres extends AsyncDisposable {
  /** Good in this process only: a long path is shortened by a name that other processes lack. */
  readonly connection: EmbeddedConnection;
  /** The postmaster's process, undefined while it is down. */
  readonly pid: number | undefined;
  /** Settles, with the reason, only when the database was lost for good and we must end. */
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
  /** A command shares the database with a server that runs; a server wants the folder to itself. */
  holder?: Holder;
  /** Changes to the settings, for tests. */
  settings?: Readonly<Record<string, string>>;
  /** Which ways to try when we are root, for tests. */
  ways?: readonly Way[];
}

const DATABASE = 'postrider';
const BACKOFF_MIN_MS = 100;
const BACKOFF_MAX_MS = 10_000;

export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const dataDir = path.resolve(options.dataDir);
  await makeDataDir(dataDir);
  const folder = path.join(dataDir, 'postgres');
  const launcher = new Launcher(options, folder);
  // One that runs must be left as it is: its owner and its files are somebody's business already.
  if (!(await launcher.runs())) {
    await refuseUnlessItTakesFiles(dataDir);
    if (launcher.whereabouts.leaveWord()) await launcher.prepare();
  }
  const server = new EmbeddedServer(options, folder, launcher);
  await server.start();
  return server;
}

async function makeDataDir(dataDir: string): Promise<void> {
  try {
    await makeFolder(dataDir, 0o700);
  } catch (error) {
    throw new StorageStartError(
      `DATA_DIR ${dataDir} cannot be made: ${(error as Error).message}. Give a folder that this user may write.`,
    );
  }
  try {
    await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch {
    throw new StorageStartError(
      `DATA_DIR ${dataDir} may not be written by this user. Run as the user that it belongs to, or set DATA_DIR to another folder.`,
    );
  }
}

/** What may be written by its rights need not take anything: /proc and /sys, or a full disk. */
async function refuseUnlessItTakesFiles(dataDir: string): Promise<void> {
  try {
    await rmdir(await mkdtemp(path.join(dataDir, 'trial-')));
  } catch (error) {
    throw new StorageStartError(
      `DATA_DIR ${dataDir} takes no files: ${(error as Error).message}. Set DATA_DIR to another folder.`,
    );
  }
}

interface Means {
  binaries: Binaries;
  runAs: RunAs;
}

/** Makes the cluster and starts PostgreSQL on it. */
class Launcher {
  readonly logFile: string;
  readonly whereabouts: Whereabouts;
  readonly #options: EmbeddedOptions;
  readonly #folder: string;
  #found: Means | undefined;

  constructor(options: EmbeddedOptions, folder: string) {
    this.#options = options;
    this.#folder = folder;
    this.logFile = path.join(path.dirname(folder), 'postgres.log');
    this.whereabouts = new Whereabouts(folder);
  }

  /** Whether one runs, here or in another container that shares the folder. */
  async runs(): Promise<boolean> {
    return findPostmaster(this.#folder) !== undefined || this.whereabouts.elsewhere();
  }

  /** Creates the cluster if there is none: right at a start, and wrong ever after. */
  async prepare(): Promise<void> {
    const { binaries, runAs } = await this.#means();
    await createCluster(this.#folder, binaries, runAs);
  }

  /** Undefined when a start elsewhere was quicker. */
  async launch(): Promise<Launched | undefined> {
    if (!this.whereabouts.leaveWord()) return undefined;
    const { binaries, runAs } = await this.#means();
    await adoptCluster(this.#folder, runAs);
    return launchPostmaster({
      binaries,
      runAs,
      folder: this.#folder,
      logFile: this.logFile,
      settings: { ...EMBEDDED_SETTINGS, ...this.#options.settings },
    });
  }

  async #means(): Promise<Means> {
    if (!this.#found) {
      const binaries = await findBinaries();
      const dataDir = path.dirname(this.#folder);
      this.#found = { binaries, runAs: await chooseRunAs(binaries, dataDir, this.#options.ways) };
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
      this.#claim = await this.#bringUp();
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
      this.#launcher.whereabouts.takeBack();
    } else this.#options.log.info('the embedded PostgreSQL stays up for another process');
    this.#socket.release();
  }

  /** Starts PostgreSQL if none runs, waits until it answers, and takes our place in it. */
  async #bringUp(): Promise<Claim> {
    for (;;) {
      await this.#untilItAnswers();
      try {
        return await claim(this.connection, this.#options.holder ?? 'server');
      } catch (error) {
        if (error instanceof AlreadyClaimedError) throw alreadyServed(this.#options, error);
        if (!isStorageGone(error)) throw unusable(error);
        // The last of its users was just switching it off: start it ourselves.
      }
    }
  }

  /** No deadline: recovery after a crash takes as long as its log is, and ending it gains nothing. */
  async #untilItAnswers(): Promise<void> {
    let launched: Launched | undefined;
    let toldAt = systemClock.now();
    for (;;) {
      if (!(await this.#launcher.runs())) {
        if (launched?.hasEnded()) {
          const { logFile } = this.#launcher;
          throw new StorageStartError(
            `The embedded PostgreSQL did not start. Its log, ${logFile}, ends: ${tailOf(logFile)}`,
          );
        }
        launched ??= await this.#launcher.launch();
      } else if (await answers(this.connection)) {
        return;
      } else if (launched?.hasEnded()) {
        // Another start was quicker than ours; should that one end, it is our turn again.
        launched = undefined;
      }
      if (systemClock.now() - toldAt > 5_000) {
        this.#options.log.info('waiting for the embedded PostgreSQL to recover');
        toldAt = systemClock.now();
      }
      await sleep(20);
    }
  }

  /** Runs until we stop: whenever the claim is lost, brings PostgreSQL up again. */
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
      log.warn('the embedded PostgreSQL is gone: starting it again');
      await sleep(backoffMs, undefined, { signal: this.#stopSignal.signal }).catch(() => {});
      backoffMs = Math.min(backoffMs * 2, BACKOFF_MAX_MS);
      if (this.#stopSignal.signal.aborted) return;
      try {
        this.#claim = await this.#bringUp();
        log.info({ pid: this.pid }, 'the embedded PostgreSQL is back');
      } catch (error) {
        log.error({ err: error }, 'the embedded PostgreSQL could not be started again');
        if (error instanceof DataDirTakenError) return this.#giveUp(error);
      }
    }
  }
}

class DataDirTakenError extends StorageStartError {}

function alreadyServed(options: EmbeddedOptions, error: AlreadyClaimedError): DataDirTakenError {
  const holder = error.holderPid === undefined ? '' : ` (process ${error.holderPid})`;
  return new DataDirTakenError(
    `Another Postrider server${holder} already uses DATA_DIR ${path.resolve(options.dataDir)}. Stop it first, or give this one a DATA_DIR of its own.`,
  );
}

function unusable(error: unknown): StorageStartError {
  return new StorageStartError(
    `The embedded PostgreSQL cannot be used: ${(error as Error).message}.`,
    { cause: error },
  );
}

async function answers(connection: EmbeddedConnection): Promise<boolean> {
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
    if (isStorageGone(error)) return false;
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
    // A command and a server that start together both find it missing.
    if (!['42P04', '23505'].includes((error as pg.DatabaseError).code ?? '')) throw error;
  } finally {
    await client.end();
  }
}
