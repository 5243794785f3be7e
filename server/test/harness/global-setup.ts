import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { startEmbedded } from '../../src/storage/embedded-postgres.ts';
import { migrate } from '../../src/storage/migrate.ts';
import { ensurePartitions } from '../../src/storage/partitions.ts';
import { openPool } from '../../src/storage/pool.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Reaches the run's PostgreSQL; `freshDatabase` makes databases in it. */
    databaseServerUrl: string;
    /** Why the template could not be made; tests that need no database run all the same. */
    databaseFault: string;
  }
}

export const TEMPLATE_DATABASE = 'postrider_template';
const FOLDER_PREFIX = 'postrider-test-';
const LEFT_BEHIND_MS = 15 * 60_000;

/** One PostgreSQL for the whole run, with a migrated template that test files copy. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  await sweep();
  const dataDir = await mkdtemp(path.join(tmpdir(), FOLDER_PREFIX));
  const server = await startEmbedded({ dataDir, log: silentLog, settings: TEST_SETTINGS });
  const { host, user } = server.connection;
  const url = `postgresql://${user}@/postgres?host=${encodeURIComponent(host)}`;
  const fault = await makeTemplate(url).then(
    () => '',
    (error: Error) => error.message,
  );
  project.provide('databaseServerUrl', url);
  project.provide('databaseFault', fault);
  return async () => {
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
}

/** A test's data need not outlive the machine: commits that do not wait make the run quicker. */
const TEST_SETTINGS = {
  synchronous_commit: 'off',
  max_connections: '200',
  shared_buffers: '128MB',
};

/** A run that was killed leaves its PostgreSQL behind; nobody else would ever stop it. */
async function sweep(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(FOLDER_PREFIX)) continue;
    const dataDir = path.join(tmpdir(), name);
    try {
      if ((await stat(dataDir)).mtimeMs > systemClock.now() - LEFT_BEHIND_MS) continue;
      // Refused when its run still lives, however old it is.
      const orphan = await startEmbedded({ dataDir, log: silentLog });
      await orphan.stop();
      await rm(dataDir, { recursive: true, force: true });
    } catch {
      // Another user's, or in use.
    }
  }
}

async function makeTemplate(url: string): Promise<void> {
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  await admin.query(`create database ${TEMPLATE_DATABASE}`);
  await admin.end();
  const templateUrl = url.replace('@/postgres', `@/${TEMPLATE_DATABASE}`);
  const pool = openPool({ places: [{ connectionString: templateUrl }], log: silentLog });
  try {
    await migrate(pool, silentLog);
    await ensurePartitions(pool, systemClock.now());
  } finally {
    await pool.end();
  }
}
