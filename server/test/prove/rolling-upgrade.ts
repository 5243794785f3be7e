import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startLoadBalancer } from '../harness/http/load-balancer.ts';
import { createServerProcess, type ServerProcess } from '../harness/server-process.ts';
import { until } from '../harness/until.ts';
import type { EarlierVersion } from './earlier-version.ts';
import { type Installation, type InstallationOptions, sharedDatabase } from './installation.ts';

/**
 * Servers of an earlier version behind a load balancer, which are replaced one after the other: a server
 * of this version starts, the first one migrates the database, both versions serve for a while, and
 * a server of the earlier version stops. Clients know the load balancer only, and no request may fail.
 */

/** More than the load balancer needs to notice that a server shuts down. */
const SHUTDOWN_DELAY_SECONDS = '4';

export async function startUpgrade(
  options: Pick<InstallationOptions, 'nodes' | 'scratch' | 'env'>,
  earlier: EarlierVersion,
): Promise<Installation> {
  await using started = new AsyncDisposableStack();
  const dataDir = path.join(options.scratch, 'data');
  const database = started.use(await sharedDatabase(dataDir));
  const env = { ...options.env, ...database.env, SHUTDOWN_DELAY_SECONDS };
  const create = (main?: string): Promise<ServerProcess[]> =>
    Promise.all(
      Array.from({ length: options.nodes }, () =>
        createServerProcess({ dataDir, env, ...(main === undefined ? {} : { main }) }),
      ),
    );
  const [before, after] = await Promise.all([create(earlier.main), create()]);
  const all = [...before, ...after];
  started.defer(async () => void (await Promise.all(all.map((node) => node.kill()))));
  for (const node of before) await node.start();
  const balancer = started.use(await startLoadBalancer(all.map(({ url }) => url)));
  await until(() => fetch(`${balancer.url}/readyz`).then(({ ok }) => ok), {
    what: 'the load balancer has found a server',
  });
  let replaced = 0;
  const owned = started.move();
  return {
    urls: [balancer.url],
    commandEnv: { DATA_DIR: dataDir, ...database.env },
    commandMain: earlier.launcher,
    postgres: database.description,
    kinds: ['upgrade'],
    skipped: {},
    async cause({ holdMs }) {
      const [old, next] = [before[replaced], after[replaced]] as [ServerProcess, ServerProcess];
      replaced += 1;
      await next.start();
      await sleep(holdMs);
      await stop(old);
      return `server ${replaced} of ${before.length}, ${holdMs} ms beside the earlier version`;
    },
    async stop() {
      await Promise.all(after.map(stop));
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function stop(node: ServerProcess): Promise<void> {
  const code = await node.stop();
  if (code !== 0) throw new Error(`A server exited with ${code}:\n${node.output.slice(-4000)}`);
}
