import {
  constants,
  copyFile,
  lstat,
  mkdir,
  readdir,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { makeFolder } from '../../lib/make-folder.ts';
import { StorageStartError } from '../start-error.ts';
import { syncToDisk } from './sync-to-disk.ts';

/**
 * A copy of the data folder that is whole although a server writes to it meanwhile: PostgreSQL's own
 * low-level backup ("Making a Base Backup Using the Low Level API"). Its files are copied as they
 * change, with the log of the changes, and the first start of the copy replays that log. What comes
 * out is a data folder like any other.
 */
export interface BackedUp {
  folder: string;
  files: number;
  bytes: number;
  /** Whether secret.key is in it; it is not when the operator keeps the key, in SECRET_KEY. */
  secret_key: boolean;
}

export async function backUp(options: {
  connection: pg.ClientConfig;
  dataDir: string;
  target: string;
  /** Nothing is left of a backup that ends early. */
  leaving: AbortSignal;
}): Promise<BackedUp> {
  const target = path.resolve(options.target);
  refuseInside(path.resolve(options.dataDir, CLUSTER), target);
  const isThere = await refuseTaken(target);
  // Whoever finds a backup under its own name finds a whole one. A folder that is there may be another
  // disk, which cannot be put in place by a name: then it is made inside, and its parts are.
  const draft = isThere ? path.join(target, UNFINISHED) : `${target}.${UNFINISHED}`;
  try {
    await rm(draft, { recursive: true, force: true });
    await makeFolder(draft, 0o700);
    const copy = new Copy(options.leaving);
    await copyCluster(options, copy, draft);
    const [key, keyCopy] = [options.dataDir, draft].map((one) => path.join(one, 'secret.key'));
    const keyIsThere = await unlessGone(
      copy.file(key as string, keyCopy as string).then(() => true),
    );
    await syncToDisk(draft);
    if (isThere) await putInPlace(draft, target);
    else await rename(draft, target);
    await syncToDisk(isThere ? target : path.dirname(target));
    const { files, bytes } = copy;
    return { folder: target, files, bytes, secret_key: keyIsThere ?? false };
  } catch (error) {
    await rm(draft, { recursive: true, force: true }).catch(() => {});
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
    throw new StorageStartError(
      `The backup could not be written: ${(error as Error).message}. Nothing is left of it.`,
    );
  }
}

/** A copy that lies in what is copied would be copied too, over and over. */
function refuseInside(cluster: string, target: string): void {
  if (/^\.\.(?:[\\/]|$)/.test(path.relative(cluster, target))) return;
  throw new StorageStartError(
    `${target} lies inside the database itself. Give a folder outside of ${cluster}; nothing was written.`,
  );
}

const UNFINISHED = 'unfinished';

/** Whether the folder is there already, with nothing in it but what a backup left that was killed. */
async function refuseTaken(target: string): Promise<boolean> {
  const names = await readdir(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new StorageStartError(`${target} cannot be used: ${error.message}.`);
  });
  if (names === undefined) return false;
  if (names.every((name) => name === UNFINISHED)) return true;
  throw new StorageStartError(
    `${target} is not empty. Give each backup a folder of its own; nothing was written.`,
  );
}

/** The database last: without it the rest is no data folder. */
async function putInPlace(draft: string, target: string): Promise<void> {
  const names = await readdir(draft);
  const lastOf = (name: string): number => (name === CLUSTER ? 1 : 0);
  for (const name of names.sort((a, b) => lastOf(a) - lastOf(b))) {
    await rename(path.join(draft, name), path.join(target, name));
  }
  await rm(draft, { recursive: true });
}

async function copyCluster(
  { connection, dataDir }: { connection: pg.ClientConfig; dataDir: string },
  copy: Copy,
  draft: string,
): Promise<void> {
  const from = path.join(dataDir, CLUSTER);
  const to = path.join(draft, CLUSTER);
  // PostgreSQL ends a backup whose session ends, so all of it happens in one.
  const session = new pg.Client(connection);
  session.on('error', () => {});
  await session.connect();
  try {
    // Keeps the log from being reused before it is copied.
    await session.query(
      `select pg_create_physical_replication_slot('backup_' || pg_backend_pid(), true, true)`,
    );
    const began = await session.query<{ first: string }>(
      `select pg_walfile_name(pg_backup_start('postrider', true)) as first`,
    );
    await copy.folder(from, to, '');
    // Last, as pg_basebackup has it: it must not be older than any of the files.
    await copy.file(path.join(from, CONTROL), path.join(to, CONTROL));
    const ended = await session.query<{ last: string; labelfile: string }>(
      'select pg_walfile_name(lsn) as last, labelfile from pg_backup_stop(false)',
    );
    const { last, labelfile } = ended.rows[0] as { last: string; labelfile: string };
    const label = path.join(to, 'backup_label');
    await writeFile(label, labelfile, { mode: 0o600 });
    await syncToDisk(label);
    await copy.log(path.join(from, 'pg_wal'), path.join(to, 'pg_wal'), began.rows[0]?.first, last);
    await syncToDisk(to);
  } finally {
    await session.end();
  }
}

const CLUSTER = 'postgres';
const CONTROL = path.join('global', 'pg_control');

/** Made anew at each start, or of no use to another process. */
const EMPTIED = new Set([
  'pg_dynshmem',
  'pg_notify',
  'pg_replslot',
  'pg_serial',
  'pg_snapshots',
  'pg_stat_tmp',
  'pg_subtrans',
  'pg_wal',
]);
const LEFT_OUT = /^(postmaster\.(pid|opts)|pgsql_tmp.*|pg_internal\.init.*|backup_label.*)$/;

/** Counts what it copies, and returns only once that is on the disk. */
class Copy {
  files = 0;
  bytes = 0;
  readonly #leaving: AbortSignal;

  constructor(leaving: AbortSignal) {
    this.#leaving = leaving;
  }

  async folder(from: string, to: string, inside: string): Promise<void> {
    await mkdir(to, { mode: 0o700 });
    const names = EMPTIED.has(inside) ? [] : await readdir(from);
    for (const name of names) {
      const place = path.join(inside, name);
      if (LEFT_OUT.test(name) || place === CONTROL) continue;
      const [source, copy] = [path.join(from, name), path.join(to, name)];
      const found = await unlessGone(lstat(source));
      if (found?.isDirectory()) await this.folder(source, copy, place);
      else if (found?.isFile()) await unlessGone(this.file(source, copy));
    }
    await syncToDisk(to);
  }

  /** The log from one file to another, both included. */
  async log(from: string, to: string, first = '', last: string): Promise<void> {
    const names = await readdir(from);
    const needed = names.filter(
      (name) => /^[0-9A-F]{24}$/.test(name) && name >= first && name <= last,
    );
    if (!needed.includes(first) || !needed.includes(last)) {
      throw new Error('Broken invariant: the log of a backup is there while it is held');
    }
    for (const name of needed) await this.file(path.join(from, name), path.join(to, name));
    await syncToDisk(to);
  }

  async file(from: string, to: string): Promise<void> {
    this.#leaving.throwIfAborted();
    await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    await syncToDisk(to);
    this.files += 1;
    this.bytes += (await stat(to)).size;
  }
}

/** A table may be dropped while it is copied: the log knows. */
async function unlessGone<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
