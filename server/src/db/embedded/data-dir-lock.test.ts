import { mkdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { expect, test } from 'vitest';
import { createTempDir } from '../../../test/harness/temp-dir.ts';
import { systemClock } from '../../lib/clock.ts';
import { DataDirLock } from './data-dir-lock.ts';

const HERE = 'boot-1 pid:[1]';
const THERE = 'boot-1 pid:[2]';

async function house() {
  const scratch = await createTempDir();
  const folder = path.join(scratch.path, 'postgres');
  await mkdir(folder);
  const file = `${folder}.where`;
  return {
    folder,
    file,
    here: new DataDirLock(folder, HERE),
    there: new DataDirLock(folder, THERE),
    /** As if the word had been left long ago. */
    age: () => utimes(file, new Date(0), new Date(systemClock.now() - 31_000)),
    [Symbol.asyncDispose]: () => scratch[Symbol.asyncDispose](),
  };
}

test('one that starts elsewhere is waited for, and not joined by a second', async () => {
  await using it = await house();
  expect(await it.here.isHeldElsewhere()).toBe(false);
  expect(it.there.acquire()).toBe(true);
  expect(await it.here.isHeldElsewhere()).toBe(true);
  expect(it.here.acquire()).toBe(false);
  expect(await readFile(it.file, 'utf8')).toBe(THERE);
  // Its own processes it can see.
  expect(await it.there.isHeldElsewhere()).toBe(false);
  expect(it.there.acquire()).toBe(true);
});

test('one that died before it listened is not waited for any longer', async () => {
  await using it = await house();
  it.there.acquire();
  await it.age();
  expect(await it.here.isHeldElsewhere()).toBe(false);
  expect(it.here.acquire()).toBe(true);
  expect(await readFile(it.file, 'utf8')).toBe(HERE);
});

test('where somebody listens one runs, whatever words say', async () => {
  await using it = await house();
  const socket = path.join(it.folder, '.s.PGSQL.5432');
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  expect(await it.here.isHeldElsewhere()).toBe(true);
  it.there.acquire();
  await it.age();
  expect(await it.here.isHeldElsewhere()).toBe(true);
  await new Promise((resolve) => server.close(resolve));
  expect(await it.here.isHeldElsewhere()).toBe(false);
});

test('a socket that nobody listens at is no sign of life', async () => {
  await using it = await house();
  await writeFile(path.join(it.folder, '.s.PGSQL.5432'), '');
  expect(await it.here.isHeldElsewhere()).toBe(false);
});

test('words from before the machine was started mean nothing', async () => {
  await using it = await house();
  new DataDirLock(it.folder, 'boot-0 pid:[2]').acquire();
  expect(await it.here.isHeldElsewhere()).toBe(false);
  expect(it.here.acquire()).toBe(true);
});

test('who stops takes back its own word, and nobody else’s', async () => {
  await using it = await house();
  it.there.acquire();
  it.here.release();
  expect(await it.here.isHeldElsewhere()).toBe(true);
  it.there.release();
  expect(await it.here.isHeldElsewhere()).toBe(false);
  await rm(it.folder, { recursive: true });
  it.here.release();
});
