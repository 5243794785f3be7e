import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { projectFiles, ROOT } from './project-files.ts';

/**
 * Builds the dashboard into dashboard/dist/app when it is not there or was made from other sources.
 * The new one takes the place of the old in one move, so that a server that starts meanwhile reads
 * one or the other.
 */

const DIST = path.join(ROOT, 'dashboard/dist');
const APP = path.join(DIST, 'app');
const STAMP = path.join(DIST, 'app/built-from.txt');
/** The style sheet that the dashboard shares with the reference. */
const TOKENS = 'server/src/http/reference/assets/tokens.css';
const LOCK_POLL_MS = 200;
const COMPRESSED = /\.(js|css|html|svg)$/;

/** Whether it had to be built. */
export async function buildDashboard(): Promise<boolean> {
  const wanted = hashOfSources();
  if (isBuilt(wanted)) return false;
  mkdirSync(DIST, { recursive: true });
  await using _lock = await lock();
  // Somebody else may have built it while we waited.
  if (!isBuilt(wanted)) await build(wanted);
  return true;
}

function isBuilt(wanted: string): boolean {
  return existsSync(STAMP) && readFileSync(STAMP, 'utf8') === wanted;
}

async function build(wanted: string): Promise<void> {
  const { build: viteBuild } = await import('vite');
  const fresh = path.join(DIST, `app-${process.pid}`);
  // Started from a test run it would otherwise come out as a build for developers.
  const environment = process.env.NODE_ENV;
  process.env.NODE_ENV = 'production';
  try {
    await viteBuild({
      configFile: path.join(ROOT, 'dashboard/vite.config.ts'),
      logLevel: 'warn',
      build: { outDir: fresh },
    });
    compress(fresh);
    writeFileSync(path.join(fresh, 'built-from.txt'), wanted);
    rmSync(APP, { recursive: true, force: true });
    renameSync(fresh, APP);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
    if (environment === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = environment;
  }
}

/** One build at a time, on a machine that may run several test files and a server. */
async function lock(): Promise<AsyncDisposable> {
  const file = path.join(DIST, 'build.pid');
  for (;;) {
    try {
      writeFileSync(file, String(process.pid), { flag: 'wx' });
      return { [Symbol.asyncDispose]: async () => rmSync(file, { force: true }) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    if (isAbandoned(file)) rmSync(file, { force: true });
    else await sleep(LOCK_POLL_MS);
  }
}

function isAbandoned(file: string): boolean {
  try {
    const owner = Number(readFileSync(file, 'utf8'));
    // Empty for the moment between being made and being written.
    if (owner > 0) process.kill(owner, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

/** By content, not by time: a checkout makes every file new. */
function hashOfSources(): string {
  const hash = createHash('sha256');
  const sources = projectFiles().filter(
    (file) =>
      (file.startsWith('dashboard/') && !file.endsWith('.test.ts')) ||
      file === TOKENS ||
      file === 'package-lock.json',
  );
  for (const file of sources) {
    hash
      .update(`${file}\0`)
      .update(readFileSync(path.join(ROOT, file)))
      .update('\0');
  }
  return hash.digest('hex');
}

function compress(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile() || !COMPRESSED.test(entry.name)) continue;
    const file = path.join(entry.parentPath, entry.name);
    const bytes = readFileSync(file);
    writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
    const params = { [constants.BROTLI_PARAM_QUALITY]: 11 };
    writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params }));
  }
}

if (import.meta.main) {
  const startedAt = performance.now();
  if (!isBuilt(hashOfSources()))
    console.log('Building the dashboard: needed once, and after changes.');
  if (await buildDashboard()) {
    console.log(`Built the dashboard in ${((performance.now() - startedAt) / 1000).toFixed(1)} s.`);
  }
}
