import { once } from 'node:events';
import { configFromEnvironment } from '../config/env.ts';
import { migrate } from '../db/migrate.ts';
import { openStorage } from '../db/open-storage.ts';
import { ensurePartitions, PARTITIONED_TABLES } from '../db/partitions.ts';
import { verifySecretKey } from '../db/verify-secret-key.ts';
import { systemClock } from '../lib/clock.ts';
import { silentLog } from '../lib/log.ts';
import type { DatabaseContext } from './command-context.ts';

const CONNECTIONS_MAX = 4;

/**
 * Opens the configured database for one command and applies migrations first, because a command may
 * be the very first use. A signal does not wait for the work to finish.
 */
export async function withDatabase<T>(work: (parts: DatabaseContext) => Promise<T>): Promise<T> {
  const config = configFromEnvironment();
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
      await verifySecretKey(pool, secretKey, { allowOther: config.allowOtherSecretKey });
      await ensurePartitions(pool, systemClock.now(), PARTITIONED_TABLES, { signal });
      return work({ config, pool, clock: systemClock, secretKey });
    };
    const interrupted = once(signal, 'abort').then(() => Promise.reject(signal.reason));
    return Promise.race([upToDate(), interrupted]);
  });
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
