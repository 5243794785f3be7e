import { sshServer, unknownSettings } from '../config/env.ts';
import type { Config } from '../config/read-config.ts';
import { createLog } from '../lib/log.ts';
import { releaseMemoryWhenIdle } from '../lib/memory/release-memory.ts';
import { type App, buildApp } from './build-app.ts';
import { startErrorMessage } from './start-errors.ts';
import { startupBanner } from './startup-banner.ts';
import { exitAfter, firstSignal } from './stop-signals.ts';

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
  releaseMemoryWhenIdle();
  const reason = await Promise.race([app.storage.lost, signal]);
  const lost = reason instanceof Error;
  log.info({ reason: lost ? reason.message : reason }, 'stopping');
  exitAfter(config.http, log);
  await app.stop();
  return lost ? 1 : 0;
}
