import { mkdir, stat } from 'node:fs/promises';
import path from 'node:path';

/**
 * A folder, with those above it that are missing. Node's own `recursive` never ends where a folder is
 * there and takes none in it, as /proc: it makes the one above, is told that it exists, and tries anew.
 */
export async function mkdirp(folder: string, mode = 0o777): Promise<void> {
  try {
    await mkdir(folder, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const above = path.dirname(folder);
    if (code === 'EEXIST' && (await stat(folder)).isDirectory()) return;
    if (code !== 'ENOENT' || above === folder) throw error;
    await mkdirp(above, mode);
    await mkdirUnlessMade(folder, mode);
  }
}

/** Another process may make it at the same moment. */
async function mkdirUnlessMade(folder: string, mode: number): Promise<void> {
  try {
    await mkdir(folder, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EEXIST' || !(await stat(folder)).isDirectory()) throw error;
  }
}
