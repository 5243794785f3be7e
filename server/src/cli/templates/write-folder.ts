import { readdir, rm, rmdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { makeFolder } from '../../lib/make-folder.ts';
import type { Files } from './folder-format.ts';

export interface Written {
  written: string[];
  removed: string[];
}

/**
 * Makes a folder hold `wanted`: files that differ are written, files that an item of the server no
 * longer has are removed. `known` is what lies there now; folders of `items` alone are touched, so
 * that what was never pushed stays.
 */
export async function writeFolder(
  directory: string,
  wanted: Files,
  known: Files,
  items: readonly string[],
): Promise<Written> {
  const written: string[] = [];
  for (const [file, text] of wanted) {
    if (known.get(file) === text) continue;
    await makeFolder(path.resolve(directory, path.dirname(file)));
    await writeFile(path.join(directory, file), text);
    written.push(file);
  }
  const removed = [...known.keys()].filter(
    (file) => !wanted.has(file) && items.some((folder) => file.startsWith(`${folder}/`)),
  );
  for (const file of removed) {
    await rm(path.join(directory, file));
    await removeEmpty(directory, path.dirname(file));
  }
  return { written, removed };
}

/** A variant's folder goes with its last file. */
async function removeEmpty(directory: string, folder: string): Promise<void> {
  if (!folder.includes('/locales')) return;
  const left = await readdir(path.join(directory, folder));
  if (left.length > 0) return;
  await rmdir(path.join(directory, folder));
  await removeEmpty(directory, path.dirname(folder));
}
