import { expect } from 'vitest';
import { openRouter } from '../../../src/bootstrap/start-router.ts';
import { readConfig } from '../../../src/config/read-config.ts';
import { parseDatabaseUrl } from '../../../src/db/connections/database-url.ts';
import { openPool, type Pool } from '../../../src/db/connections/pool.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { systemClock } from '../../../src/lib/time/clock.ts';
import { ManualClock } from '../../../src/lib/time/manual-clock.ts';
import { WorkspaceMove } from '../../../src/privacy/workspace-move.ts';
import { WorkspacePurges } from '../../../src/privacy/workspace-purges.ts';
import { startApp, type TestApp } from '../app.ts';
import { mailboxRoute } from '../delivery/mailbox-route.ts';
import { freePort } from '../free-port.ts';
import { until } from '../until.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';

/** Several installations in the schemas of one database. */

export async function withPool<T>(
  { url }: TestDatabase,
  schema: string,
  work: (pool: Pool) => Promise<T>,
): Promise<T> {
  const pool = openPool({ hosts: parseDatabaseUrl(url, { schema }), log: silentLog, max: 4 });
  try {
    return await work(pool);
  } finally {
    await pool.end();
  }
}

/** Deletes the copy of a workspace that has left, as servers do in the course of a minute. */
export async function purge(database: TestDatabase, schema: string, id: string): Promise<void> {
  const clock = new ManualClock(Date.now());
  await withPool(database, schema, (pool) =>
    until(async () => {
      clock.advance(60_000);
      await new WorkspacePurges({ pool, clock, log: silentLog }).work();
      return (await pool.query('select from workspaces where id = $1', [id])).rowCount === 0;
    }),
  );
}

export const ROUTER_TOKEN = 'a router token for tests, long enough to be one'.replaceAll(' ', '-');
interface CellServer {
  app: TestApp;
  stop(): Promise<void>;
}

interface CellsOptions {
  routerEnv?: Record<string, string>;
  deliversBySmtp?: boolean;
}

/** One server per cell, and a router in front of them. With `deliversBySmtp`, live mail is really sent. */
export async function startCells(
  names: readonly string[],
  env: Record<string, string> | ((cell: string) => Record<string, string>) = {},
  { routerEnv = {}, deliversBySmtp = false }: CellsOptions = {},
) {
  const database = await createTestDatabase({ empty: true });
  const ports = await Promise.all(names.map(() => freePort()));
  const route = mailboxRoute();
  const servers = new Map<string, CellServer>();
  const start = async (name: string): Promise<TestApp> => {
    const app = await startApp({
      database,
      ...(deliversBySmtp ? {} : { liveRoute: route }),
      env: {
        DATABASE_SCHEMA: name,
        PORT: String(ports[names.indexOf(name)]),
        ROUTER_TOKEN,
        TRUST_PROXY: '127.0.0.1',
        ...(typeof env === 'function' ? env(name) : env),
      },
    });
    servers.set(name, { app, stop: () => app.app.stop() });
    return app;
  };
  for (const name of names) await start(name);
  const router = await openRouter(
    readConfig({
      PORT: '0',
      SUBMISSION_PORT: '0',
      RETURN_PATH_PORT: '0',
      ROUTER_CELLS: names.map((name, n) => `${name}=http://127.0.0.1:${ports[n]}`).join(),
      ROUTER_TOKEN,
      BASE_URL: 'http://postrider.test',
      ...routerEnv,
    }),
    silentLog,
  );
  return {
    database,
    route,
    router,
    start,
    app: (name: string) => (servers.get(name) as CellServer).app,
    async stop(name: string) {
      await servers.get(name)?.stop();
      servers.delete(name);
    },
    async [Symbol.asyncDispose]() {
      await router.stop();
      for (const server of servers.values()) await server.stop();
      await database[Symbol.asyncDispose]();
    },
  };
}

export type Cells = Awaited<ReturnType<typeof startCells>>;

export async function move(
  { database }: Cells,
  id: string,
  from: string,
  to: string,
): Promise<void> {
  const { state } = await withPool(database, from, (source) =>
    withPool(database, to, (target) =>
      new WorkspaceMove({ source, target, clock: systemClock }, id).run(),
    ),
  );
  expect(state).toBe('moved');
}
