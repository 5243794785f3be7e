import { execFile } from 'node:child_process';
import { mkdir, open, readdir, rm, stat, statfs, truncate } from 'node:fs/promises';
import { totalmem } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

/**
 * A file system of its own for the database, small enough to be filled. Root may mount one in memory;
 * otherwise the user names a folder on one. A limit on file sizes would not do: PostgreSQL reports it
 * as another error than a full disk.
 */
export interface SmallDisk extends AsyncDisposable {
  readonly folder: string;
  /** Uses up all space. */
  fill(): Promise<void>;
  release(): Promise<void>;
}

const GIB = 2 ** 30;
const SIZE_MAX = 4 * GIB;
const CHUNK_BYTES = 2 ** 20;
/** A page of PostgreSQL: what is left in the end does not fit another one. */
const PAGE_BYTES = 8192;
/** For the database after each release. */
const FREE_BYTES = GIB / 2;

/** Throws an error with the reason if there can be none here. */
export async function openSmallDisk(
  scratch: string,
  given: string | undefined,
): Promise<SmallDisk> {
  if (given !== undefined) {
    await refuseUnsuitable(given);
    return smallDiskAt(given, () => rm(path.join(given, 'data'), { recursive: true, force: true }));
  }
  const size = Math.min(SIZE_MAX, Math.floor(totalmem() / 4));
  if (size < GIB) throw new Error('the machine has less than 4 GiB of memory for a disk in memory');
  const folder = path.join(scratch, 'small-disk');
  await mkdir(folder);
  const run = promisify(execFile);
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=755`, 'tmpfs', folder]);
  } catch {
    throw new Error('mounting a file system is not permitted; use --small-disk');
  }
  return smallDiskAt(folder, async () => void (await run('umount', ['-l', folder])));
}

/** The disk that holds the user's own files must not be filled. */
async function refuseUnsuitable(folder: string): Promise<void> {
  const { blocks, bsize } = await statfs(folder);
  if (blocks * bsize > SIZE_MAX) {
    throw new Error(`${folder} is on a file system of more than 4 GiB, which is not filled.`);
  }
  const names = (await readdir(folder)).filter((name) => name !== 'lost+found');
  if (names.length > 0) throw new Error(`${folder} is not empty.`);
}

function smallDiskAt(folder: string, cleanUp: () => Promise<void>): SmallDisk {
  const ballast = path.join(folder, 'ballast');
  const release = async () => {
    // Not all of it, so that the next time less has to be written.
    const { size } = await stat(ballast);
    await truncate(ballast, Math.max(0, size - FREE_BYTES));
  };
  return {
    folder,
    async fill() {
      const file = await open(ballast, 'a');
      try {
        for (const bytes of [CHUNK_BYTES, PAGE_BYTES]) {
          const chunk = Buffer.alloc(bytes, 1);
          while (await fits(() => file.write(chunk)));
        }
      } finally {
        await file.close();
      }
    },
    release,
    async [Symbol.asyncDispose]() {
      await rm(ballast, { force: true });
      await cleanUp();
    },
  };
}

async function fits(write: () => Promise<unknown>): Promise<boolean> {
  try {
    await write();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return false;
    throw error;
  }
}
