import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestProject } from 'vitest/node';
import { startEmbedded } from '../../src/db/embedded/embedded-postgres.ts';
import { silentLog } from '../../src/lib/log.ts';
import { bundleChildPrograms, PROGRAMS_VARIABLE } from './child-programs.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Parent folder of each worker's PostgreSQL, which its first `createTestDatabase` starts. */
    databaseFolder: string;
  }
}

const FOLDER_PREFIX = 'postrider-test-';
const OWNER_FILE = 'run.pid';

/**
 * Each worker starts its own PostgreSQL on demand; this removes them after the run. The projects of a
 * run share the programs that their tests start.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  await sweep();
  const dataDir = await mkdtemp(path.join(tmpdir(), FOLDER_PREFIX));
  await writeFile(path.join(dataDir, OWNER_FILE), String(process.pid));
  project.provide('databaseFolder', dataDir);
  // Halves the time that each of the hundreds of child processes takes to load the server.
  process.env.NODE_COMPILE_CACHE ??= path.join(dataDir, 'compile-cache');
  if (process.env[PROGRAMS_VARIABLE] === undefined) {
    const programs = path.join(dataDir, 'programs');
    await bundleChildPrograms(programs);
    process.env[PROGRAMS_VARIABLE] = programs;
  }
  return () => remove(dataDir);
}

/** Removes what killed runs left behind, because nothing else would stop their PostgreSQL. */
async function sweep(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(FOLDER_PREFIX)) continue;
    const dataDir = path.join(tmpdir(), name);
    try {
      const owner = Number(await readFile(path.join(dataDir, OWNER_FILE), 'utf8'));
      if (owner > 0 && !isAlive(owner)) await remove(dataDir);
    } catch {
      // It belongs to another user, or another run is removing it.
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

async function remove(folder: string): Promise<void> {
  for (const worker of await readdir(folder, { withFileTypes: true })) {
    const dataDir = path.join(folder, worker.name);
    if (!existsSync(path.join(dataDir, 'postgres', 'postmaster.pid'))) continue;
    const server = await startEmbedded({ dataDir, log: silentLog });
    await server.stop();
    if (server.pid !== undefined) return;
  }
  await rm(folder, { recursive: true, force: true });
}
