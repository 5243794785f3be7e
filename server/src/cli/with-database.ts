import { once } from 'node:events';
import { accessSync, constants, existsSync } from 'node:fs';
import path from 'node:path';
import { configFromEnvironment } from '../config/env.ts';
import type { Config } from '../config/read-config.ts';
import { StorageStartError } from '../db/connections/database-errors.ts';
import { openStorage } from '../db/open-storage.ts';
import { migrate } from '../db/schema/migrate.ts';
import { ensurePartitions, partitionedTables } from '../db/schema/partitions.ts';
import { verifySecretKey } from '../db/verify-secret-key.ts';
import { silentLog } from '../lib/log.ts';
import { systemClock } from '../lib/time/clock.ts';
import type { DatabaseContext } from './command-context.ts';
import { noteDatabase, recordCommand, withdrawCommand } from './running-command.ts';

const CONNECTIONS_MAX = 4;

/**
 * Opens the configured database for one command and applies migrations first, because a command may
 * be the first use of a new release. A signal does not wait for the work to finish. Only a command
 * that says so creates the database: another one was probably run in the wrong folder.
 */
export async function withDatabase<T>(
  work: (parts: DatabaseContext) => Promise<T>,
  { create = false, orElse }: { create?: boolean; orElse?: string } = {},
): Promise<T> {
  const config = configFromEnvironment();
  if (!create) requireDatabase(config.storage, orElse);
  const isNew = !hasDatabase(config.storage);
  const open = () =>
    openStorage({
      ...config.storage,
      connectionsMax: CONNECTIONS_MAX,
      secretKey: config.secretKey,
      log: silentLog,
      holder: 'command',
    });
  return withInterruptible(open, async ({ pool, secretKey }, signal) => {
    const upToDate = async (): Promise<T> => {
      await migrate(pool, silentLog, { signal });
      // It may be in the wrong folder, next to the database of a server.
      if (isNew)
        console.error(`Created a new database in ${path.resolve(config.storage.dataDir)}.`);
      await verifySecretKey(pool, secretKey, { allowOther: config.allowOtherSecretKey });
      const tables = partitionedTables(config.partitionDays);
      await ensurePartitions(pool, systemClock.now(), tables, { signal });
      const parts = { config, pool, clock: systemClock, secretKey };
      noteDatabase(parts);
      const result = await work(parts).catch(async (error) => {
        await withdrawCommand(parts, error);
        throw error;
      });
      await recordCommand(parts, result);
      return result;
    };
    const interrupted = once(signal, 'abort').then(() => Promise.reject(signal.reason));
    return Promise.race([upToDate(), interrupted]);
  });
}

function hasDatabase({ databaseUrl, dataDir }: Config['storage']): boolean {
  return databaseUrl !== undefined || existsSync(path.join(dataDir, 'postgres'));
}

/** Refuses to continue if there is no embedded database in DATA_DIR. */
export function requireDatabase(storage: Config['storage'], orElse?: string): void {
  if (hasDatabase(storage)) return;
  const dataDir = path.resolve(storage.dataDir);
  if (!mayBeEntered(dataDir)) {
    throw new StorageStartError(
      `DATA_DIR ${dataDir} is not readable by this user. Run the command as its owner, or set DATA_DIR to another folder.`,
    );
  }
  const detail = `There is no database in DATA_DIR ${dataDir}. Set DATA_DIR to the data folder of your server, or DATABASE_URL if it uses one. Starting the server creates a new database.`;
  throw new StorageStartError(orElse === undefined ? detail : `${detail} ${orElse}`);
}

/** False if the permissions of the folder or of one above it do not allow this user to look inside. */
function mayBeEntered(folder: string): boolean {
  try {
    accessSync(folder, constants.X_OK);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'EACCES';
  }
}

/** Thrown when a signal ended the command. */
export class InterruptedError extends Error {
  readonly signal: NodeJS.Signals;

  constructor(signal: NodeJS.Signals) {
    super(`Interrupted by ${signal}.`);
    this.name = 'InterruptedError';
    this.signal = signal;
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Opens a resource for one command and closes it after the work. A signal only requests the end: a
 * PostgreSQL that was started for this command must be stopped first. A second signal ends the
 * process at once.
 */
export async function withInterruptible<S extends AsyncDisposable, T>(
  open: () => Promise<S>,
  work: (storage: S, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const abort = new AbortController();
  const onSignal = (signal: NodeJS.Signals) => abort.abort(new InterruptedError(signal));
  for (const signal of SIGNALS) process.once(signal, onSignal);
  try {
    await using storage = await open();
    abort.signal.throwIfAborted();
    return await work(storage, abort.signal);
  } finally {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  }
}
