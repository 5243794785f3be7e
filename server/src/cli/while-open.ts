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
 * Opens a database for one command, whether a server runs on it or not, and closes it after the work.
 * A signal only asks the work to end: a PostgreSQL that was started for this command is to be stopped,
 * and nobody else would. Who asks twice does not want to wait.
 */
export async function whileOpen<S extends AsyncDisposable, T>(
  open: () => Promise<S>,
  work: (storage: S, leaving: AbortSignal) => Promise<T>,
): Promise<T> {
  const leaving = new AbortController();
  const leave = (signal: NodeJS.Signals) => leaving.abort(new InterruptedError(signal));
  for (const signal of SIGNALS) process.once(signal, leave);
  try {
    await using storage = await open();
    leaving.signal.throwIfAborted();
    return await work(storage, leaving.signal);
  } finally {
    for (const signal of SIGNALS) process.off(signal, leave);
  }
}
