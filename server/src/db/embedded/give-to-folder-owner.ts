import { chownSync, statSync } from 'node:fs';
import path from 'node:path';

/**
 * Gives a file that root has created to the owner of its folder. Otherwise a service of that user
 * could not open the file after root has run a command.
 */
export function giveToFolderOwner(file: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(path.dirname(file));
  if (statSync(file).uid !== uid) chownSync(file, uid, gid);
}
