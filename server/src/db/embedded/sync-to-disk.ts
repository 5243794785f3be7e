import { open } from 'node:fs/promises';

/** A file's content, or a folder's names, survive a power cut from here on. */
export async function syncToDisk(place: string): Promise<void> {
  const handle = await open(place, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
