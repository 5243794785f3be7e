import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startEmbedded } from '../../src/db/embedded/embedded-postgres.ts';
import { silentLog } from '../../src/lib/log.ts';
import { signalPostgres } from '../harness/database/postgres-signals.ts';
import { createServerProcess, type ServerProcess } from '../harness/server-process.ts';
import { ClockSkew } from './clock-skew.ts';
import {
  type Cause,
  type Causes,
  type DatabaseUnderTest,
  postgresCauses,
} from './database-under-test.ts';
import type { FailureKind, PlannedFailure } from './failure-schedule.ts';
import { startPatroniCluster } from './patroni-cluster.ts';
import { openSmallDisk, type SmallDisk } from './small-disk.ts';

/**
 * What fails: server processes and a database, with the failures that this machine can produce. A
 * failure is over when every node is ready again.
 */
export interface Installation extends AsyncDisposable {
  /** Addresses for clients. */
  readonly urls: readonly string[];
  /** With these environment variables, commands use the same database. */
  readonly commandEnv: Record<string, string>;
  /** The file of the command line, if it is not this version's. */
  readonly commandMain?: string;
  readonly postgres: string;
  readonly kinds: readonly FailureKind[];
  /** Kinds that are not possible here, with the reason. */
  readonly skipped: Readonly<Partial<Record<FailureKind, string>>>;
  /** Causes the failure and waits until everything has recovered. Returns what it did. */
  cause(failure: PlannedFailure): Promise<string>;
  /** Stops all nodes; an exit code other than 0 is an error. */
  stop(): Promise<void>;
}

export const SETUPS = {
  single: 'one server with its embedded PostgreSQL',
  nodes: 'several servers that share one PostgreSQL',
  patroni: 'several servers on three PostgreSQL members under Patroni, which has to be installed',
} as const;

export type Setup = keyof typeof SETUPS;

export interface InstallationOptions {
  setup: Setup;
  nodes: number;
  /** For data; it is empty. */
  scratch: string;
  smallDisk: string | undefined;
  /** Settings of all nodes. */
  env: Record<string, string>;
  /** Only what these need is prepared. All that are possible if undefined. */
  kinds: readonly FailureKind[] | undefined;
}

const SECRET_KEY = 'a secret key for reliability tests, long enough to be one';

export async function startInstallation(options: InstallationOptions): Promise<Installation> {
  await using started = new AsyncDisposableStack();
  const skipped: Partial<Record<FailureKind, string>> = {};
  const disk = await smallDisk(options, skipped);
  if (disk) started.use(disk);
  const dataDir = path.join(disk?.folder ?? options.scratch, 'data');
  const database = started.use(await startDatabase(options, dataDir));
  if (disk) database.causes['disk-full'] = fillDisk(disk);

  const count = options.setup === 'single' ? 1 : options.nodes;
  const skews = Array.from({ length: count }, (_, node) => new ClockSkew(options.scratch, node));
  // Otherwise the clock is left alone, so that other failures are tried on the server as it is.
  const skewed = isWanted('clock-jump', options);
  const nodes = await Promise.all(
    skews.map(({ nodeOptions, env }) =>
      createServerProcess({
        dataDir,
        env: { ...options.env, ...database.env, ...(skewed ? env : {}) },
        ...(skewed ? { nodeOptions } : {}),
      }),
    ),
  );
  started.defer(async () => {
    for (const node of nodes) {
      node.resume();
      await node.kill();
    }
  });
  // One after the other, because the first one creates the tables.
  for (const node of nodes) await node.start();

  const causes: Causes = { ...nodeCauses(nodes, skews), ...database.causes };
  for (const kind of options.kinds ?? []) {
    if (causes[kind]) continue;
    // Otherwise a run without the requested failures would pass.
    throw new Error(
      `${kind} is not possible here: ${skipped[kind] ?? NEEDED[kind] ?? 'see --help'}.`,
    );
  }
  const owned = started.move();
  return {
    urls: nodes.map(({ url }) => url),
    commandEnv: { DATA_DIR: dataDir, ...database.env },
    postgres: database.description,
    kinds: options.kinds ?? (Object.keys(causes) as FailureKind[]),
    skipped,
    async cause(failure) {
      const cause = causes[failure.kind];
      if (!cause) throw new Error(`${failure.kind} is not possible here.`);
      const detail = await cause(failure);
      await database.recovered?.();
      await Promise.all(nodes.map((node) => node.waitUntilReady()));
      return detail;
    },
    async stop() {
      const codes = await Promise.all(nodes.map((node) => node.stop()));
      if (codes.some((code) => code !== 0)) throw new Error(`Nodes exited with ${codes.join()}.`);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const NEEDED: Partial<Record<FailureKind, string>> = {
  switchover: 'it needs --setup patroni',
  'leader-kill': 'it needs --setup patroni',
  upgrade: 'it needs --upgrade-from',
};

function isWanted(kind: FailureKind, { kinds }: InstallationOptions): boolean {
  return kinds === undefined || kinds.includes(kind);
}

async function smallDisk(
  options: InstallationOptions,
  skipped: Partial<Record<FailureKind, string>>,
): Promise<SmallDisk | undefined> {
  if (!isWanted('disk-full', options)) return undefined;
  if (options.setup === 'patroni') {
    if (options.smallDisk !== undefined) {
      throw new Error('--small-disk cannot be combined with --setup patroni.');
    }
    skipped['disk-full'] = 'a Patroni cluster has three disks';
    return undefined;
  }
  try {
    return await openSmallDisk(options.scratch, options.smallDisk);
  } catch (error) {
    // Without a folder from the user it is one failure less; with one it is a mistake.
    if (options.smallDisk !== undefined) throw error;
    skipped['disk-full'] = (error as Error).message;
    return undefined;
  }
}

function startDatabase(options: InstallationOptions, dataDir: string): Promise<DatabaseUnderTest> {
  switch (options.setup) {
    case 'single':
      return Promise.resolve(embeddedDatabase(dataDir));
    case 'nodes':
      return sharedDatabase(dataDir);
    case 'patroni':
      return startPatroniCluster(SECRET_KEY);
  }
}

/** The server starts, supervises and restarts it. It outlives a killed server. */
function embeddedDatabase(dataDir: string): DatabaseUnderTest {
  const postgresDir = path.join(dataDir, 'postgres');
  return {
    description: 'the embedded PostgreSQL',
    env: {},
    causes: postgresCauses(async () => postgresDir),
    async [Symbol.asyncDispose]() {
      await signalPostgres(postgresDir, 'SIGKILL');
    },
  };
}

/** This process supervises and restarts it. */
export async function sharedDatabase(dataDir: string): Promise<DatabaseUnderTest> {
  await mkdir(dataDir, { recursive: true });
  // Connections for several nodes, and a write-ahead log that fits a small disk.
  const settings = { max_connections: '200', max_wal_size: '256MB', min_wal_size: '80MB' };
  const server = await startEmbedded({ dataDir, log: silentLog, settings });
  const { user, host, database } = server.connection;
  const postgresDir = path.join(dataDir, 'postgres');
  if (host !== postgresDir) {
    await server.stop();
    throw new Error(`${postgresDir} is too long for a socket; set TMPDIR to a shorter folder.`);
  }
  return {
    description: 'one PostgreSQL, the version that the server embeds',
    env: {
      DATABASE_URL: `postgresql://${user}@/${database}?host=${encodeURIComponent(host)}`,
      SECRET_KEY,
    },
    causes: postgresCauses(async () => postgresDir),
    [Symbol.asyncDispose]: () => server.stop(),
  };
}

function nodeCauses(nodes: readonly ServerProcess[], skews: readonly ClockSkew[]): Causes {
  const chosen = ({ target }: PlannedFailure): number => Math.floor(target * nodes.length);
  return {
    'node-kill': async (failure) => {
      const node = nodes[chosen(failure)] as ServerProcess;
      await node.kill();
      await sleep(failure.holdMs);
      await node.start();
      return `node ${chosen(failure)}, down for ${failure.holdMs} ms`;
    },
    'node-freeze': async (failure) => {
      const node = nodes[chosen(failure)] as ServerProcess;
      node.suspend();
      await sleep(failure.holdMs);
      node.resume();
      return `node ${chosen(failure)}, for ${failure.holdMs} ms`;
    },
    'clock-jump': async (failure) => {
      const skew = skews[chosen(failure)] as ClockSkew;
      skew.set(failure.jumpMs);
      await sleep(failure.holdMs);
      skew.set(0);
      return `node ${chosen(failure)}, by ${failure.jumpMs} ms for ${failure.holdMs} ms`;
    },
  };
}

function fillDisk(disk: SmallDisk): Cause {
  return async ({ holdMs }) => {
    try {
      await disk.fill();
      await sleep(holdMs);
    } finally {
      await disk.release();
    }
    return `for ${holdMs} ms`;
  };
}
