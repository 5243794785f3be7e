import { unknownSettings } from '../config/env.ts';
import { type Config, ConfigError } from '../config/read-config.ts';
import { createRegistry } from '../http/observability/http-metrics.ts';
import { addProcessMetrics } from '../http/observability/node-metrics.ts';
import { createHttpListener, resolveListenAddresses } from '../http/server/http-listener.ts';
import { systemClock } from '../lib/clock.ts';
import { createLog, type Log } from '../lib/log.ts';
import { CellDirectory } from '../router/cell-directory.ts';
import { createRouterServer } from '../router/router-server.ts';
import { VERSION } from '../version.ts';
import { startErrorMessage } from './start-errors.ts';
import { exitAfter, firstSignal } from './stop-signals.ts';

/** A router that listens. */
export interface RunningRouter {
  url: string;
  stop(): Promise<void>;
}

/** Runs the router until a signal arrives; resolves with the exit code. */
export async function startRouter(config: Config): Promise<number> {
  const log = createLog({ level: config.log.level });
  for (const warning of unknownSettings()) log.warn(warning);
  const signal = firstSignal();
  let router: RunningRouter;
  try {
    router = await openRouter(config, log);
  } catch (error) {
    const message = startErrorMessage(error, config);
    if (message === undefined) throw error;
    console.error(message);
    return 1;
  }
  console.log(`Routing ${router.url} to ${config.router.cells.map(describeCell).join(', ')}`);
  log.info({ reason: await signal }, 'stopping');
  exitAfter(config.http, log);
  await router.stop();
  return 0;
}

export async function openRouter(config: Config, log: Log): Promise<RunningRouter> {
  const { host, port, baseUrl, requestTimeoutMs, shutdownDelayMs, drainMs } = config.http;
  const { cells, token } = config.router;
  if (cells.length === 0 || token === undefined) {
    throw new ConfigError(['ROUTER_CELLS and ROUTER_TOKEN: required by the router.']);
  }
  const registry = createRegistry();
  addProcessMetrics(registry, VERSION, {});
  const clock = systemClock;
  const directory = new CellDirectory({ cells, token, clock, log });
  let isReady = true;
  const listener = createHttpListener(
    createRouterServer({
      ...{ cells, directory, registry, baseUrl, requestTimeoutMs, clock, log },
      isReady: () => isReady,
    }),
  );
  const url = await listener.listen(await resolveListenAddresses(host), port);
  for (const { cell, reason } of await directory.check()) {
    log.warn({ cell: cell.name, url: cell.url, reason }, 'a cell does not answer lookups');
  }
  return {
    url,
    async stop() {
      isReady = false;
      await listener.discourage(shutdownDelayMs);
      await listener.drain(drainMs);
    },
  };
}

function describeCell({ name, url }: Config['router']['cells'][number]): string {
  return `${name} (${url})`;
}
