import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { createTempDir } from '../harness/temp-dir.ts';
import { ClockSkew } from './clock-skew.ts';

const PROGRAM = `
const { Worker, isMainThread } = require('node:worker_threads');
const isDate = new Date() instanceof Date;
console.log(JSON.stringify([Date.now(), new Date().getTime(), new Date(5).getTime(), isDate]));
if (isMainThread) new Worker(__filename);
`;
const HOUR_MS = 3_600_000;

test('a process and its threads have a clock that is wrong by the offset', async () => {
  await using folder = await createTempDir();
  const program = path.join(folder.path, 'program.cjs');
  await writeFile(program, PROGRAM);
  const skew = new ClockSkew(folder.path, 0);
  skew.set(HOUR_MS);
  const { stdout } = await promisify(execFile)(process.execPath, [...skew.nodeOptions, program], {
    env: { PATH: process.env.PATH, ...skew.env },
  });
  const threads = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(threads).toHaveLength(2);
  for (const [now, constructed, given, isDate] of threads) {
    // Within half an hour, which no machine needs to start a process.
    expect(Math.round((now - Date.now()) / HOUR_MS)).toBe(1);
    expect(Math.round((constructed - Date.now()) / HOUR_MS)).toBe(1);
    expect(given).toBe(5);
    expect(isDate).toBe(true);
  }
});
