import { closeSync, existsSync, mkdtempSync, openSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** The smallest sun_path of the systems we run on (macOS) with its closing NUL. */
const SOCKET_PATH_MAX_BYTES = 103;
export const SOCKET_NAME = '.s.PGSQL.5432';

export interface SocketFolder {
  /** A name of the folder that is short enough, good in this process. */
  path: string;
  release(): void;
}

/**
 * A socket's path must fit in about a hundred bytes, and DATA_DIR may be longer. The kernel's own
 * short name for an open folder needs no file anywhere; where there is none, a private folder with
 * an unguessable name holds a symbolic link.
 */
export function shortSocketFolder(folder: string): SocketFolder {
  if (Buffer.byteLength(path.join(folder, SOCKET_NAME)) <= SOCKET_PATH_MAX_BYTES) {
    return { path: folder, release: () => {} };
  }
  if (existsSync('/proc/self/fd')) {
    const descriptor = openSync(folder, 'r');
    return { path: `/proc/self/fd/${descriptor}`, release: () => closeSync(descriptor) };
  }
  const hall = mkdtempSync(path.join(tmpdir(), 'postrider-'));
  const alias = path.join(hall, 'pg');
  symlinkSync(folder, alias);
  return { path: alias, release: () => rmSync(hall, { recursive: true, force: true }) };
}
