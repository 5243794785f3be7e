import { isNpmScript, unknownSettings } from '../config/env.ts';
import type { Config } from '../config/read-config.ts';
import { StorageStartError } from '../db/start-error.ts';
import { createLog, type Log } from '../lib/log.ts';
import { type App, buildApp } from './build-app.ts';
import { startupBanner } from './startup-banner.ts';

/** How soon it is noticed that npm is gone. */
const PARENT_LOOK_MS = 500;

/** Beyond DRAIN_SECONDS, the time to close what is left; then the process ends regardless. */
const CLOSING_MS = 5_000;

/** Assemble, run, and wait for a signal; resolves with the exit code. */
export async function start(config: Config): Promise<number> {
  const log = createLog({ level: config.log.level });
  for (const sentence of unknownSettings()) log.warn(sentence);
  // Asked for before anything runs: a signal during the start is kept until there is a house to leave.
  const signal = firstSignal();
  const leaving = new AbortController();
  void signal.then(() => leaving.abort());
  let app: App;
  try {
    app = await buildApp({ config, log, signal: leaving.signal });
  } catch (error) {
    if (leaving.signal.aborted) return 0;
    const sentence = sentenceOf(error, config);
    if (sentence === undefined) throw error;
    console.error(sentence);
    return 1;
  }
  // It asks the database, which may be slow or gone; a signal is heard meanwhile, and mail goes on.
  startupBanner(app, config).then(console.log, (error) =>
    log.warn({ err: error }, 'the greeting could not be written: start again to see it'),
  );
  const reason = await Promise.race([app.storage.lost, signal]);
  const lost = reason instanceof Error;
  log.info({ reason: lost ? reason.message : reason }, 'stopping');
  endAfter(config.http.drainMs + CLOSING_MS, log);
  await app.stop();
  return lost ? 1 : 0;
}

/** A part that does not stop must not keep the process: what is unfinished has leases that run out. */
function endAfter(delayMs: number, log: Log): void {
  const timer = setTimeout(() => {
    log.error('stopping took too long: leaving what is unfinished');
    process.exit(1);
  }, delayMs);
  timer.unref();
}

function firstSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of stopSignals()) {
      process.once(signal, () => {
        resolve(signal);
        // Who asks twice does not want to wait.
        process.once(signal, () => process.exit(1));
      });
    }
    if (isNpmScript()) whenOrphaned(() => resolve('npm is gone'));
  });
}

/**
 * A terminal that is closed ends what runs in it. Whoever has no terminal has no use for that signal,
 * or has asked for it to be ignored (nohup), which a handler of ours would undo.
 */
function stopSignals(): NodeJS.Signals[] {
  const inTerminal = process.stdout.isTTY || process.stderr.isTTY;
  return ['SIGTERM', 'SIGINT', ...(inTerminal ? (['SIGHUP'] as const) : [])];
}

/** npm passes a signal on to the shell between us alone: it would leave a server behind that holds the port. */
function whenOrphaned(task: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    task();
  }, PARENT_LOOK_MS);
  timer.unref();
}

/** Faults that the operator can mend, in a sentence; undefined for a bug, which keeps its stack. */
function sentenceOf(error: unknown, { http }: Config): string | undefined {
  if (error instanceof StorageStartError) return error.message;
  const { code, syscall } = error as NodeJS.ErrnoException;
  // Files have some of these codes too, and PORT is no cure for them.
  if (syscall !== 'listen' && syscall !== 'getaddrinfo') return undefined;
  switch (code) {
    case 'EADDRINUSE':
      return `Another program listens on ${http.host}:${http.port}. Stop it, or set PORT.`;
    case 'EACCES':
      return `This user may not listen on ${http.host}:${http.port}. Set PORT to one above 1023.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `HOST ${http.host} is not an address of this machine.`;
    default:
      return undefined;
  }
}
