import { stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { scratchFolder } from '../../test/harness/temp-dir.ts';
import { makeFolder } from './make-folder.ts';

test('a folder is made with all above it, once or often, by one or by many', async () => {
  await using folder = await scratchFolder();
  const deep = path.join(folder.path, 'a', 'b', 'c');
  await Promise.all([1, 2, 3].map(() => makeFolder(deep, 0o700)));
  await makeFolder(deep);
  expect((await stat(path.dirname(deep))).mode & 0o777).toBe(0o700);
});

test('a file in its place, or above it, is told', async () => {
  await using folder = await scratchFolder();
  const file = path.join(folder.path, 'file');
  await writeFile(file, '');
  await expect(makeFolder(file)).rejects.toMatchObject({ code: 'EEXIST' });
  await expect(makeFolder(path.join(file, 'a', 'b'))).rejects.toMatchObject({ code: 'ENOTDIR' });
});

test.runIf(process.platform === 'linux')(
  'where no folder can be made, none is tried for ever',
  {
    timeout: 10_000,
  },
  async () => {
    await expect(makeFolder('/proc/none')).rejects.toMatchObject({ code: 'ENOENT' });
    await expect(makeFolder('/proc/self/none/deeper')).rejects.toMatchObject({ code: 'ENOENT' });
  },
);
