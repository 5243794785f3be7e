import { mkdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { expect, test } from 'vitest';
import { createTempDir } from '../../../test/harness/temp-dir.ts';
import { systemClock } from '../../lib/time/clock.ts';
import { DataDirLock } from './data-dir-lock.ts';

const OWN = 'boot-1 pid:[1]';
const FOREIGN = 'boot-1 pid:[2]';

async function setUp() {
  const tempDir = await createTempDir();
  const folder = path.join(tempDir.path, 'postgres');
  await mkdir(folder);
  const file = `${folder}.lock`;
  return {
    folder,
    file,
    own: new DataDirLock(folder, OWN),
    foreign: new DataDirLock(folder, FOREIGN),
    /** Makes the lock file look old. */
    age: () => utimes(file, new Date(0), new Date(systemClock.now() - 31_000)),
    [Symbol.asyncDispose]: () => tempDir[Symbol.asyncDispose](),
  };
}

test('a start in another namespace holds the lock', async () => {
  await using it = await setUp();
  expect(await it.own.isHeldElsewhere()).toBe(false);
  expect(it.foreign.acquire()).toBe(true);
  expect(await it.own.isHeldElsewhere()).toBe(true);
  expect(it.own.acquire()).toBe(false);
  expect(await readFile(it.file, 'utf8')).toBe(FOREIGN);
  // The owner itself does not count as elsewhere.
  expect(await it.foreign.isHeldElsewhere()).toBe(false);
  expect(it.foreign.acquire()).toBe(true);
});

test('an old lock without a socket is ignored', async () => {
  await using it = await setUp();
  it.foreign.acquire();
  await it.age();
  expect(await it.own.isHeldElsewhere()).toBe(false);
  expect(it.own.acquire()).toBe(true);
  expect(await readFile(it.file, 'utf8')).toBe(OWN);
});

test('a listening socket counts as running, whatever the lock file says', async () => {
  await using it = await setUp();
  const socket = path.join(it.folder, '.s.PGSQL.5432');
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  expect(await it.own.isHeldElsewhere()).toBe(true);
  it.foreign.acquire();
  await it.age();
  expect(await it.own.isHeldElsewhere()).toBe(true);
  await new Promise((resolve) => server.close(resolve));
  expect(await it.own.isHeldElsewhere()).toBe(false);
});

test('a socket without a listener is ignored', async () => {
  await using it = await setUp();
  await writeFile(path.join(it.folder, '.s.PGSQL.5432'), '');
  expect(await it.own.isHeldElsewhere()).toBe(false);
});

test('a lock from before a reboot is ignored', async () => {
  await using it = await setUp();
  new DataDirLock(it.folder, 'boot-0 pid:[2]').acquire();
  expect(await it.own.isHeldElsewhere()).toBe(false);
  expect(it.own.acquire()).toBe(true);
});

test('release removes only its own lock', async () => {
  await using it = await setUp();
  it.foreign.acquire();
  it.own.release();
  expect(await it.own.isHeldElsewhere()).toBe(true);
  it.foreign.release();
  expect(await it.own.isHeldElsewhere()).toBe(false);
  await rm(it.folder, { recursive: true });
  it.own.release();
});
