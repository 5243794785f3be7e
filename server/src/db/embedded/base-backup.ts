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
import { mkdirp } from '../../lib/mkdirp.ts';
import { StorageStartError } from '../connections/database-errors.ts';
import { fsyncPath } from './fsync.ts';

/**
 * Copies the data folder consistently while a server writes to it, with PostgreSQL's low-level backup
 * API ("Making a Base Backup Using the Low Level API"). Files are copied while they change, together
 * with the WAL, which the first start of the copy replays. The result is a regular data folder.
 */
export interface BackupSummary {
  folder: string;
  files: number;
  bytes: number;
  /** Whether it includes secret.key; false if the key is set in SECRET_KEY. */
  secret_key: boolean;
}

export async function createBaseBackup(options: {
  connection: pg.ClientConfig;
  dataDir: string;
  target: string;
  /** Aborts the backup and removes what was copied. */
  signal: AbortSignal;
}): Promise<BackupSummary> {
  const target = path.resolve(options.target);
  checkTargetOutside(path.resolve(options.dataDir, CLUSTER), target);
  const targetExists = await checkTargetEmpty(target);
  // The final name only ever refers to a complete backup. An existing target may be a mount point,
  // which cannot be replaced by a rename: the draft is then inside it, and its entries are moved.
  const draft = targetExists ? path.join(target, UNFINISHED) : `${target}.${UNFINISHED}`;
  try {
    await rm(draft, { recursive: true, force: true });
    await mkdirp(draft, 0o700);
    const copy = new DurableCopy(options.signal);
    await copyCluster(options, copy, draft);
    const [key, keyCopy] = [options.dataDir, draft].map((one) => path.join(one, 'secret.key'));
    const hasKey = await ifExists(copy.file(key as string, keyCopy as string).then(() => true));
    await fsyncPath(draft);
    if (targetExists) await moveIntoPlace(draft, target);
    else await rename(draft, target);
    await fsyncPath(targetExists ? target : path.dirname(target));
    const { files, bytes } = copy;
    return { folder: target, files, bytes, secret_key: hasKey ?? false };
  } catch (error) {
    await rm(draft, { recursive: true, force: true }).catch(() => {});
    if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
    throw new StorageStartError(
      `Could not write the backup: ${(error as Error).message}. The partial backup was removed.`,
    );
  }
}

/** A target inside the source would be copied into itself. */
function checkTargetOutside(cluster: string, target: string): void {
  if (/^\.\.(?:[\\/]|$)/.test(path.relative(cluster, target))) return;
  throw new StorageStartError(
    `${target} is inside the database folder. Choose a folder outside of ${cluster}. Nothing was written.`,
  );
}

const UNFINISHED = 'unfinished';

/** Whether the target exists; it may only contain the rest of a backup that was killed. */
async function checkTargetEmpty(target: string): Promise<boolean> {
  const names = await readdir(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new StorageStartError(`${target} cannot be used: ${error.message}.`);
  });
  if (names === undefined) return false;
  if (names.every((name) => name === UNFINISHED)) return true;
  throw new StorageStartError(
    `${target} is not empty. Choose an empty or new folder. Nothing was written.`,
  );
}

/** Moves the database last, because only it makes a data folder complete. */
async function moveIntoPlace(draft: string, target: string): Promise<void> {
  const names = await readdir(draft);
  const lastOf = (name: string): number => (name === CLUSTER ? 1 : 0);
  for (const name of names.sort((a, b) => lastOf(a) - lastOf(b))) {
    await rename(path.join(draft, name), path.join(target, name));
  }
  await rm(draft, { recursive: true });
}

async function copyCluster(
  { connection, dataDir }: { connection: pg.ClientConfig; dataDir: string },
  copy: DurableCopy,
  draft: string,
): Promise<void> {
  const from = path.join(dataDir, CLUSTER);
  const to = path.join(draft, CLUSTER);
  // A backup must start and stop in the same session.
  const session = new pg.Client(connection);
  session.on('error', () => {});
  await session.connect();
  try {
    // The slot keeps WAL files from being recycled before they are copied.
    await session.query(
      `select pg_create_physical_replication_slot('backup_' || pg_backend_pid(), true, true)`,
    );
    const began = await session.query<{ first: string }>(
      `select pg_walfile_name(pg_backup_start('postrider', true)) as first`,
    );
    await copy.folder(from, to, '');
    // Last, as in pg_basebackup: it must not be older than any other file.
    await copy.file(path.join(from, CONTROL), path.join(to, CONTROL));
    const ended = await session.query<{ last: string; labelfile: string }>(
      'select pg_walfile_name(lsn) as last, labelfile from pg_backup_stop(false)',
    );
    const { last, labelfile } = ended.rows[0] as { last: string; labelfile: string };
    // Because of the signal, the first start of the copy begins a new timeline. Otherwise it would number
    // events like those that the original writes from now on, and readers of these would skip them.
    for (const [name, text] of [
      ['backup_label', labelfile],
      ['recovery.signal', ''],
    ] as const) {
      const file = path.join(to, name);
      await writeFile(file, text, { mode: 0o600 });
      await fsyncPath(file);
    }
    await copy.wal(path.join(from, 'pg_wal'), path.join(to, 'pg_wal'), began.rows[0]?.first, last);
    await fsyncPath(to);
  } finally {
    await session.end();
  }
}

const CLUSTER = 'postgres';
const CONTROL = path.join('global', 'pg_control');

/** Recreated at every start, or not usable by another process. */
const EMPTY_FOLDERS = new Set([
  'pg_dynshmem',
  'pg_notify',
  'pg_replslot',
  'pg_serial',
  'pg_snapshots',
  'pg_stat_tmp',
  'pg_subtrans',
  'pg_wal',
]);
const EXCLUDED_FILES = /^(postmaster\.(pid|opts)|pgsql_tmp.*|pg_internal\.init.*|backup_label.*)$/;

/** Copies files durably, and counts them. */
class DurableCopy {
  files = 0;
  bytes = 0;
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  async folder(from: string, to: string, inside: string): Promise<void> {
    await mkdir(to, { mode: 0o700 });
    const names = EMPTY_FOLDERS.has(inside) ? [] : await readdir(from);
    for (const name of names) {
      const relative = path.join(inside, name);
      if (EXCLUDED_FILES.test(name) || relative === CONTROL) continue;
      const [source, copy] = [path.join(from, name), path.join(to, name)];
      const found = await ifExists(lstat(source));
      if (found?.isDirectory()) await this.folder(source, copy, relative);
      else if (found?.isFile()) await ifExists(this.file(source, copy));
    }
    await fsyncPath(to);
  }

  /** Copies the WAL files from `first` to `last`. */
  async wal(from: string, to: string, first = '', last: string): Promise<void> {
    const names = await readdir(from);
    const needed = names.filter(
      (name) => /^[0-9A-F]{24}$/.test(name) && name >= first && name <= last,
    );
    if (!needed.includes(first) || !needed.includes(last)) {
      throw new Error('Broken invariant: WAL files of the backup are missing');
    }
    for (const name of needed) await this.file(path.join(from, name), path.join(to, name));
    await fsyncPath(to);
  }

  async file(from: string, to: string): Promise<void> {
    this.#signal.throwIfAborted();
    await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    await fsyncPath(to);
    this.files += 1;
    this.bytes += (await stat(to)).size;
  }
}

/** A file may be deleted during the copy; the WAL accounts for it. */
async function ifExists<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
