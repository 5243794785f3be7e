import { readdir, rm, rmdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { mkdirp } from '../../lib/mkdirp.ts';
import type { Files } from './template-folder.ts';

export interface WriteResult {
  written: string[];
  removed: string[];
}

/**
 * Makes a directory match `wanted`: files that differ are written, files that an item on the server
 * no longer has are removed. `known` is the current content; only directories of `items` are
 * touched, so that items which were never pushed stay.
 */
export async function writeTemplateFolder(
  directory: string,
  wanted: Files,
  known: Files,
  items: readonly string[],
): Promise<WriteResult> {
  const written: string[] = [];
  for (const [file, text] of wanted) {
    if (known.get(file) === text) continue;
    await mkdirp(path.resolve(directory, path.dirname(file)));
    await writeFile(path.join(directory, file), text);
    written.push(file);
  }
  const removed = [...known.keys()].filter(
    (file) => !wanted.has(file) && items.some((folder) => file.startsWith(`${folder}/`)),
  );
  for (const file of removed) {
    await rm(path.join(directory, file));
    await removeEmptyFolder(directory, path.dirname(file));
  }
  return { written, removed };
}

/** The directory of a locale is removed with its last file. */
async function removeEmptyFolder(directory: string, folder: string): Promise<void> {
  if (!folder.includes('/locales')) return;
  const left = await readdir(path.join(directory, folder));
  if (left.length > 0) return;
  await rmdir(path.join(directory, folder));
  await removeEmptyFolder(directory, path.dirname(folder));
}
