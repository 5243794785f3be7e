import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestProject } from 'vitest/node';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { startEmbedded } from '../../src/storage/embedded-postgres.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of the run's PostgreSQL, which the first `freshDatabase` starts. */
    databaseFolder: string;
  }
}

const FOLDER_PREFIX = 'postrider-test-';
const LEFT_BEHIND_MS = 15 * 60_000;

/** One PostgreSQL for the whole run, and none for a run that needs none. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  await sweep();
  const dataDir = await mkdtemp(path.join(tmpdir(), FOLDER_PREFIX));
  project.provide('databaseFolder', dataDir);
  return () => remove(dataDir);
}

/** A run that was killed leaves its PostgreSQL behind; nobody else would ever stop it. */
async function sweep(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(FOLDER_PREFIX)) continue;
    const dataDir = path.join(tmpdir(), name);
    try {
      if ((await stat(dataDir)).mtimeMs < systemClock.now() - LEFT_BEHIND_MS) await remove(dataDir);
    } catch {
      // Another user's, or of a run that still goes on.
    }
  }
}

async function remove(dataDir: string): Promise<void> {
  if (existsSync(path.join(dataDir, 'postgres', 'postmaster.pid'))) {
    const server = await startEmbedded({ dataDir, log: silentLog });
    await server.stop();
  }
  await rm(dataDir, { recursive: true, force: true });
}
