import { readdirSync } from 'node:fs';
import path from 'node:path';

export const ROOT = path.resolve(import.meta.dirname, '..');

const IGNORED = new Set(['node_modules', '.git', 'data', 'dist', 'coverage', 'results']);

/** All files of the project, sorted, relative to its root, with forward slashes. */
export function projectFiles(root: string = ROOT): string[] {
  return filesBelow(root, '').sort();
}

/** Ignored folders are not opened at all: a data folder may belong to another user. */
function filesBelow(root: string, folder: string): string[] {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    if (IGNORED.has(entry.name)) return [];
    const file = path.posix.join(folder, entry.name);
    if (entry.isDirectory()) return filesBelow(root, file);
    return entry.isFile() ? [file] : [];
  });
}
