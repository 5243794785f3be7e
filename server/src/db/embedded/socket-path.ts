import { closeSync, existsSync, mkdtempSync, openSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** The smallest sun_path limit of the supported systems (macOS), including the NUL. */
const SOCKET_PATH_MAX_BYTES = 103;
export const SOCKET_NAME = '.s.PGSQL.5432';

export interface SocketFolder {
  /** A path of the folder that is short enough. Only valid in this process. */
  path: string;
  release(): void;
}

/**
 * Socket paths are limited to about a hundred bytes, and DATA_DIR may be longer. On Linux,
 * /proc/self/fd provides a short path without any file; elsewhere a private temporary folder contains
 * a symbolic link.
 */
export function shortSocketFolder(folder: string): SocketFolder {
  if (Buffer.byteLength(path.join(folder, SOCKET_NAME)) <= SOCKET_PATH_MAX_BYTES) {
    return { path: folder, release: () => {} };
  }
  if (existsSync('/proc/self/fd')) {
    const descriptor = openSync(folder, 'r');
    return { path: `/proc/self/fd/${descriptor}`, release: () => closeSync(descriptor) };
  }
  const folderOfLink = mkdtempSync(path.join(tmpdir(), 'postrider-'));
  const alias = path.join(folderOfLink, 'pg');
  symlinkSync(folder, alias);
  return { path: alias, release: () => rmSync(folderOfLink, { recursive: true, force: true }) };
}
