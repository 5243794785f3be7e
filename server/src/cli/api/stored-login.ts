import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { apiEnvironment } from '../../config/env.ts';
import { mkdirp } from '../../lib/mkdirp.ts';
import { UsageError } from '../command.ts';

/** The server and the API key of `postrider login`, in a file that only its owner can read. */

export interface Login {
  url: string;
  apiKey: string;
}

export function loginFile(): string {
  return path.join(apiEnvironment().configDir, 'login.json');
}

export async function readLogin(): Promise<Login | undefined> {
  const file = loginFile();
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? ''))
      return undefined;
    throw error;
  }
  try {
    const { url, api_key: apiKey } = JSON.parse(text) as { url: unknown; api_key: unknown };
    if (typeof url === 'string' && typeof apiKey === 'string') return { url, apiKey };
  } catch {
    // Reported below.
  }
  throw new UsageError(`${file} is damaged. Run "postrider login" again.`);
}

/** The file is renamed into place, so that it is complete and never readable by others. */
export async function writeLogin({ url, apiKey }: Login): Promise<void> {
  const file = loginFile();
  const temporary = `${file}.${process.pid}`;
  await mkdirp(path.dirname(file), 0o700);
  await writeFile(temporary, `${JSON.stringify({ url, api_key: apiKey }, null, 2)}\n`, {
    mode: 0o600,
    flag: 'wx',
  });
  await rename(temporary, file);
}

/** Returns whether there was a login. */
export async function deleteLogin(): Promise<boolean> {
  const existed = (await readLogin().catch(() => true)) !== undefined;
  await rm(loginFile(), { force: true });
  return existed;
}
