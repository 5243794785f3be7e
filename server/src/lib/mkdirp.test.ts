import { stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { createTempDir } from '../../test/harness/temp-dir.ts';
import { mkdirp } from './mkdirp.ts';

test('a folder is created with its parents, also repeatedly and concurrently', async () => {
  await using folder = await createTempDir();
  const deep = path.join(folder.path, 'a', 'b', 'c');
  await Promise.all([1, 2, 3].map(() => mkdirp(deep, 0o700)));
  await mkdirp(deep);
  expect((await stat(path.dirname(deep))).mode & 0o777).toBe(0o700);
});

test('a file in the path is an error', async () => {
  await using folder = await createTempDir();
  const file = path.join(folder.path, 'file');
  await writeFile(file, '');
  await expect(mkdirp(file)).rejects.toMatchObject({ code: 'EEXIST' });
  await expect(mkdirp(path.join(file, 'a', 'b'))).rejects.toMatchObject({ code: 'ENOTDIR' });
});

test.runIf(process.platform === 'linux')(
  'fails instead of looping where no folder can be created',
  {
    timeout: 10_000,
  },
  async () => {
    await expect(mkdirp('/proc/none')).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(mkdirp('/proc/self/none/deeper')).rejects.toMatchObject({ code: 'ENOENT' });
  },
);
