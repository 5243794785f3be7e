import { isNpmScript, sshServer, unknownSettings } from '../config/env.ts';
import type { Config } from '../config/read-config.ts';
import { StorageStartError } from '../db/database-errors.ts';
import { createLog, type Log } from '../lib/log.ts';
import { type App, buildApp } from './build-app.ts';
import { startupBanner } from './startup-banner.ts';

/** How often the process checks that npm is still running. */
const PARENT_CHECK_MS = 500;

/** Added to DRAIN_SECONDS for closing connections; after that the process exits anyway. */
const CLOSE_MS = 5_000;

/** Builds and runs the app until a signal arrives; resolves with the exit code. */
export async function start(config: Config): Promise<number> {
  const log = createLog({ level: config.log.level });
  for (const warning of unknownSettings()) log.warn(warning);
  // Registered before the start, so that a signal during the start aborts it.
  const signal = firstSignal();
  const abort = new AbortController();
  void signal.then(() => abort.abort());
  let app: App;
  try {
    app = await buildApp({ config, log, signal: abort.signal });
  } catch (error) {
    if (abort.signal.aborted) return 0;
    const message = startErrorMessage(error, config);
    if (message === undefined) throw error;
    console.error(message);
    return 1;
  }
  // Not awaited, because it queries the database, which may be slow.
  startupBanner(app, config, sshServer()).then(console.log, (error) =>
    log.warn({ err: error }, 'could not print the startup banner'),
  );
  const reason = await Promise.race([app.storage.lost, signal]);
  const lost = reason instanceof Error;
  log.info({ reason: lost ? reason.message : reason }, 'stopping');
  exitAfter(config.http.shutdownDelayMs + config.http.drainMs + CLOSE_MS, log);
  await app.stop();
  return lost ? 1 : 0;
}

/** Exits even if a part does not stop. Leases of unfinished work expire, and other nodes take over. */
function exitAfter(delayMs: number, log: Log): void {
  const timer = setTimeout(() => {
    log.error('shutdown timed out: exiting');
    process.exit(1);
  }, delayMs);
  timer.unref();
}

function firstSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of stopSignals()) {
      process.once(signal, () => {
        resolve(signal);
        // A second signal exits immediately.
        process.once(signal, () => process.exit(1));
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

/** The message for errors that the operator can fix; undefined for bugs, which keep their stack. */
function startErrorMessage(error: unknown, { http }: Config): string | undefined {
  if (error instanceof StorageStartError) return error.message;
  const { code, syscall } = error as NodeJS.ErrnoException;
  // File operations have some of these codes too.
  if (syscall !== 'listen' && syscall !== 'getaddrinfo') return undefined;
  switch (code) {
    case 'EADDRINUSE':
      return `${http.host}:${http.port} is already in use. Stop the other program, or set PORT.`;
    case 'EACCES':
      return `This user is not allowed to listen on ${http.host}:${http.port}. Set PORT to a number above 1023.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `HOST: ${http.host} is not an address of this machine.`;
    default:
      return undefined;
  }
}
