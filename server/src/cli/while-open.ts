import { silentLog } from '../base/log.ts';
import type { Config } from '../config/read-config.ts';
import { openStorage, type Storage } from '../storage/open-storage.ts';

/** A signal ended the command. */
export class InterruptedError extends Error {
  readonly signal: NodeJS.Signals;

  constructor(signal: NodeJS.Signals) {
    super(`Ended by ${signal}.`);
    this.name = 'InterruptedError';
    this.signal = signal;
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Works on the database of the configuration, whether a server runs on it or not, and closes it
 * afterwards. A signal only asks the work to end: a PostgreSQL that was started for this command is
 * to be stopped, and nobody else would. Who asks twice does not want to wait.
 */
export async function whileOpen<T>(
  config: Config,
  connectionsMax: number,
  work: (storage: Storage, leaving: AbortSignal) => Promise<T>,
): Promise<T> {
  const leaving = new AbortController();
  const leave = (signal: NodeJS.Signals) => leaving.abort(new InterruptedError(signal));
  for (const signal of SIGNALS) process.once(signal, leave);
  try {
    await using storage = await openStorage({
      ...config.storage,
      connectionsMax,
      secretKey: config.secretKey,
      log: silentLog,
      holder: 'command',
    });
    leaving.signal.throwIfAborted();
    return await work(storage, leaving.signal);
  } finally {
    for (const signal of SIGNALS) process.off(signal, leave);
  }
}
