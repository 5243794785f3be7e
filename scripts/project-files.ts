import { readdirSync } from 'node:fs';
import path from 'node:path';

export const ROOT = path.resolve(import.meta.dirname, '..');

const NOT_OURS = new Set(['node_modules', '.git', 'data', 'dist', 'coverage', 'results']);

/** Every file of the project, relative to its root with forward slashes, in order. */
export function projectFiles(root: string = ROOT): string[] {
  return readdirSync(root, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
    .map((file) => file.split(path.sep).join('/'))
    .filter((file) => !file.split('/').some((part) => NOT_OURS.has(part)))
    .sort();
}
