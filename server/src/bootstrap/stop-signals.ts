import { isNpmScript } from '../config/env.ts';
import type { Config } from '../config/read-config.ts';
import type { Log } from '../lib/log.ts';

/** How often the process checks that npm is still running. */
const PARENT_CHECK_MS = 500;

/** Added to DRAIN_SECONDS for closing connections; after that the process exits anyway. */
const CLOSE_MS = 5_000;

/**
 * A signal to the whole process group arrives twice if an older Node runs bin/postrider.js, which
 * forwards it.
 */
const SAME_SIGNAL_MS = 1_000;

/** Exits even if a part does not stop. Leases of unfinished work expire, and other nodes take over. */
export function exitAfter(
  { shutdownDelayMs, drainMs }: Pick<Config['http'], 'shutdownDelayMs' | 'drainMs'>,
  log: Log,
): void {
  const timer = setTimeout(
    () => {
      log.error('shutdown timed out: exiting');
      process.exit(1);
    },
    shutdownDelayMs + drainMs + CLOSE_MS,
  );
  timer.unref();
}

/** Resolves with the signal, or another reason, that ends the process. */
export function firstSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of stopSignals()) {
      process.once(signal, () => {
        resolve(signal);
        const firstAt = performance.now();
        // A second signal exits immediately.
        process.on(signal, () => {
          if (performance.now() - firstAt > SAME_SIGNAL_MS) process.exit(1);
        });
      });
    }
    if (isNpmScript()) onOrphaned(() => resolve('npm has exited'));
  });
}

/**
 * SIGHUP stops the server if it runs in a terminal that is closed. Without a terminal the signal is not
 * handled, because a handler would override nohup.
 */
function stopSignals(): NodeJS.Signals[] {
  const inTerminal = process.stdout.isTTY || process.stderr.isTTY;
  return ['SIGTERM', 'SIGINT', ...(inTerminal ? (['SIGHUP'] as const) : [])];
}

/** npm forwards signals only to its shell, which would leave the server running and the port in use. */
function onOrphaned(task: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    task();
  }, PARENT_CHECK_MS);
  timer.unref();
}
