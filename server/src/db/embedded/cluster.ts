import { execFile } from 'node:child_process';
import { chown, lchown, lstat, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '../../lib/time/clock.ts';
import { StorageStartError } from '../connections/database-errors.ts';
import { type Binaries, EMBEDDED_MAJOR } from './binaries.ts';
import { fsyncPath } from './fsync.ts';
import { CHILD_ENVIRONMENT, type RunAs } from './run-as.ts';

export const EMBEDDED_USER = 'postrider';

const run = promisify(execFile);
const UNFINISHED = 'postgres.new-';

/** Creates a cluster in `folder` if there is none. */
export async function createCluster(
  folder: string,
  binaries: Binaries,
  runAs: RunAs,
): Promise<void> {
  if ((await versionOf(folder)) === undefined) await initializeCluster(folder, binaries, runAs);
}

/** Checks that these binaries can run the cluster in `folder`, and gives `runAs` access to it. */
export async function adoptCluster(folder: string, runAs: RunAs): Promise<void> {
  const version = await versionOf(folder);
  if (version === undefined) {
    throw new StorageStartError(`The database in ${folder} is missing. Restore it from a backup.`);
  }
  if (version !== String(EMBEDDED_MAJOR)) {
    throw new StorageStartError(
      `${folder} was created by PostgreSQL ${version}, and this release includes ${EMBEDDED_MAJOR}. Upgrade the data with pg_upgrade, or run PostgreSQL ${version} yourself and set DATABASE_URL.`,
    );
  }
  await takeOwnership(folder, runAs);
}

async function versionOf(folder: string): Promise<string | undefined> {
  try {
    return (await readFile(path.join(folder, 'PG_VERSION'), 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new StorageStartError(
      `${folder} cannot be read: ${(error as Error).message}. Start Postrider as the owner, or change the owner with chown -R.`,
    );
  }
}

/**
 * Runs initdb in a temporary folder and renames it, so that a start that is killed leaves no partial
 * cluster, and of two concurrent starts one wins.
 */
async function initializeCluster(folder: string, binaries: Binaries, runAs: RunAs): Promise<void> {
  await removeUnfinished(path.dirname(folder));
  const draft = await mkdtemp(path.join(path.dirname(folder), UNFINISHED));
  try {
    if (runAs.initdbUid !== process.getuid?.()) {
      await chown(draft, runAs.initdbUid, runAs.initdbGid);
    }
    const { file, args, ids } = runAs.command(binaries.initdb, initdbArguments(draft), true);
    await run(file, args, { ...ids, cwd: '/', env: CHILD_ENVIRONMENT });
    await takeOwnership(draft, runAs);
    await rename(draft, folder);
    // Accepted mail depends on this rename, so it must survive a power failure.
    await fsyncPath(path.dirname(folder));
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) {
      if ((await versionOf(folder)) !== undefined) return;
      throw new StorageStartError(
        `${folder} is not empty and contains no PostgreSQL data. Set DATA_DIR to a folder used only by Postrider.`,
      );
    }
    const { stderr, message } = error as Error & { stderr?: string };
    throw new StorageStartError(
      `Could not create the database in ${folder}: ${(stderr || message).trim()}`,
    );
  }
}

/** Recent ones may belong to a concurrent start. */
async function removeUnfinished(dataDir: string): Promise<void> {
  const hourAgo = systemClock.now() - 3_600_000;
  for (const name of await readdir(dataDir)) {
    if (!name.startsWith(UNFINISHED)) continue;
    const draft = path.join(dataDir, name);
    if ((await lstat(draft)).mtimeMs < hourAgo) await rm(draft, { recursive: true, force: true });
  }
}

function initdbArguments(folder: string): string[] {
  return [
    ...['--pgdata', folder, '--username', EMBEDDED_USER],
    // Sorting by code point is the same on every machine and after library upgrades.
    ...['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
    '--data-checksums',
    // Access to the socket is controlled by the permissions of its folder.
    ...['--auth-local=trust', '--auth-host=reject'],
    '--no-instructions',
  ];
}

/** The folder may have been created with another method of run-as.ts. */
async function takeOwnership(folder: string, runAs: RunAs): Promise<void> {
  const owner = await lstat(folder);
  if (owner.uid === runAs.uid) return;
  if (process.getuid?.() !== 0) {
    throw new StorageStartError(
      `${folder} is owned by user ${owner.uid}, and this process runs as user ${runAs.uid}. Start Postrider as the owner, or change the owner with chown -R.`,
    );
  }
  // The top folder last, so that an interrupted change of ownership is repeated.
  for (const entry of await readdir(folder, { recursive: true })) {
    await lchown(path.join(folder, entry), runAs.uid, runAs.gid);
  }
  await lchown(folder, runAs.uid, runAs.gid);
}
