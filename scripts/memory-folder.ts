import { statfsSync } from 'node:fs';

/** In memory on most Linux systems, though containers often give it only a few megabytes. */
const FOLDER = '/dev/shm';
const FREE_BYTES_MIN = 4 * 1024 ** 3;

/**
 * A folder in memory with enough room for the databases of a test run, or undefined. Each test copies a
 * database of several hundred files, which takes a disk up to ten times as long.
 */
export function memoryFolder(): string | undefined {
  try {
    const { bavail, bsize } = statfsSync(FOLDER);
    return bavail * bsize >= FREE_BYTES_MIN ? FOLDER : undefined;
  } catch {
    return undefined;
  }
}
