import { mkdir, stat } from 'node:fs/promises';
import path from 'node:path';

/**
 * Creates a folder and its missing parents. `mkdir` with `recursive` loops forever if a parent exists
 * but rejects new entries, such as /proc.
 */
export async function mkdirp(folder: string, mode = 0o777): Promise<void> {
  try {
    await mkdir(folder, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const parent = path.dirname(folder);
    if (code === 'EEXIST' && (await stat(folder)).isDirectory()) return;
    if (code !== 'ENOENT' || parent === folder) throw error;
    await mkdirp(parent, mode);
    await mkdirIfMissing(folder, mode);
  }
}

/** Another process may create it concurrently. */
async function mkdirIfMissing(folder: string, mode: number): Promise<void> {
  try {
    await mkdir(folder, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EEXIST' || !(await stat(folder)).isDirectory()) throw error;
  }
}
