import { readdirSync } from 'node:fs';
import path from 'node:path';

export const ROOT = path.resolve(import.meta.dirname, '..');

const NOT_OURS = new Set(['node_modules', '.git', 'data', 'dist', 'coverage', 'results']);

/** Every file of the project, relative to its root with forward slashes, in order. */
export function projectFiles(root: string = ROOT): string[] {
  return filesBelow(root, '').sort();
}

/** Folders that are not ours are not even opened: the data of a server may belong to another user. */
function filesBelow(root: string, folder: string): string[] {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    if (NOT_OURS.has(entry.name)) return [];
    const file = path.posix.join(folder, entry.name);
    if (entry.isDirectory()) return filesBelow(root, file);
    return entry.isFile() ? [file] : [];
  });
}
