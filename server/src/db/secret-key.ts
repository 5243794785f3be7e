import { randomBytes } from 'node:crypto';
import { link, open, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { StorageStartError } from './connections/database-errors.ts';
import { giveToFolderOwner } from './embedded/give-to-folder-owner.ts';

/**
 * The key that encrypts secrets in the embedded database. It is created in DATA_DIR at the first start
 * with permissions for the owner only. It is written to a temporary file, synced and linked into
 * place, so that a crash leaves no partial key and two concurrent starts use the same one.
 */
export async function loadSecretKey(dataDir: string): Promise<Buffer> {
  const file = path.join(dataDir, 'secret.key');
  return (await readKey(file)) ?? (await createKey(file));
}

/** The key in DATA_DIR; undefined if there is none. */
export async function findSecretKey(dataDir: string): Promise<Buffer | undefined> {
  return readKey(path.join(dataDir, 'secret.key'));
}

async function readKey(file: string): Promise<Buffer | undefined> {
  let text: string;
  try {
    text = (await readFile(file, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new StorageStartError(`${file} cannot be read: ${(error as Error).message}.`);
  }
  if (/^[0-9a-f]{64}$/.test(text)) return Buffer.from(text, 'hex');
  throw new StorageStartError(
    `${file} does not contain 64 hexadecimal digits. Restore it from a backup: without it the secrets in the database cannot be decrypted.`,
  );
}

async function createKey(file: string): Promise<Buffer> {
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  const handle = await open(draft, 'wx', 0o600);
  try {
    await handle.writeFile(`${randomBytes(32).toString('hex')}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  giveToFolderOwner(draft);
  try {
    await link(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(draft);
  }
  return (await readKey(file)) as Buffer;
}
