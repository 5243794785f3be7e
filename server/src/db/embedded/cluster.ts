import { execFile } from 'node:child_process';
import { chown, lchown, lstat, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '../../lib/clock.ts';
import { StorageStartError } from '../start-error.ts';
import { type Binaries, EMBEDDED_MAJOR } from './binaries.ts';
import { CHILD_ENVIRONMENT, type RunAs } from './run-as.ts';
import { syncToDisk } from './sync-to-disk.ts';

export const EMBEDDED_USER = 'postrider';

const run = promisify(execFile);
const UNFINISHED = 'postgres.new-';

/** Makes a cluster in `folder` unless one is there. */
export async function createCluster(
  folder: string,
  binaries: Binaries,
  runAs: RunAs,
): Promise<void> {
  if ((await versionOf(folder)) === undefined) await initialise(folder, binaries, runAs);
}

/** Makes sure that our binaries can run the cluster in `folder`, and that `runAs` may open it. */
export async function adoptCluster(folder: string, runAs: RunAs): Promise<void> {
  const version = await versionOf(folder);
  if (version === undefined) {
    throw new StorageStartError(`The database in ${folder} is gone. Restore it from a backup.`);
  }
  if (version !== String(EMBEDDED_MAJOR)) {
    throw new StorageStartError(
      `${folder} was written by PostgreSQL ${version}, and this release brings ${EMBEDDED_MAJOR}. Move the data with pg_upgrade, or run that server yourself and set DATABASE_URL.`,
    );
  }
  await takeOwnership(folder, runAs);
}

async function versionOf(folder: string): Promise<string | undefined> {
  try {
    return (await readFile(path.join(folder, 'PG_VERSION'), 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new StorageStartError(`${folder} cannot be read: ${(error as Error).message}.`);
  }
}

/**
 * initdb works in a folder beside the final one, and a rename puts it in place: a start that is
 * killed half-way leaves nothing that looks finished, and of two that race one wins.
 */
async function initialise(folder: string, binaries: Binaries, runAs: RunAs): Promise<void> {
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
    // Mail will be accepted on the strength of this rename: it must survive a power cut too.
    await syncToDisk(path.dirname(folder));
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) {
      if ((await versionOf(folder)) !== undefined) return;
      throw new StorageStartError(
        `${folder} is not empty and holds no PostgreSQL data. Give Postrider a DATA_DIR of its own.`,
      );
    }
    const { stderr, message } = error as Error & { stderr?: string };
    throw new StorageStartError(
      `The database could not be created in ${folder}: ${(stderr || message).trim()}`,
    );
  }
}

/** Young ones may belong to a start that runs beside us. */
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
    // Text sorts by code point, the same on every machine and after every upgrade of its libraries.
    ...['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
    '--data-checksums',
    // Who can reach the socket is decided by the folder it lies in.
    ...['--auth-local=trust', '--auth-host=reject'],
    '--no-instructions',
  ];
}

/** The folder may have been written under another of the ways in run-as.ts. */
async function takeOwnership(folder: string, runAs: RunAs): Promise<void> {
  const owner = await lstat(folder);
  if (owner.uid === runAs.uid) return;
  if (process.getuid?.() !== 0) {
    throw new StorageStartError(
      `${folder} belongs to user ${owner.uid}, and this process runs as user ${runAs.uid}. Start Postrider as the owner, or hand the folder over with chown -R.`,
    );
  }
  // The top last: it marks the work as done, so an interrupted one is repeated.
  for (const entry of await readdir(folder, { recursive: true })) {
    await lchown(path.join(folder, entry), runAs.uid, runAs.gid);
  }
  await lchown(folder, runAs.uid, runAs.gid);
}
