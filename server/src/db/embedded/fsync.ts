import { open } from 'node:fs/promises';

/** Makes the content of a file, or the entries of a folder, durable. */
export async function fsyncPath(target: string): Promise<void> {
  const handle = await open(target, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
