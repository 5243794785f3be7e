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
 * Builds the dashboard into dashboard/dist/app if it is missing or out of date. The new build
 * replaces the old one with a rename, so that a server that starts meanwhile sees a complete build.
 */

const DIST = path.join(ROOT, 'dashboard/dist');
const APP = path.join(DIST, 'app');
const STAMP = path.join(DIST, 'app/built-from.txt');
/** The style sheet that the dashboard shares with the API reference. */
const TOKENS = 'server/src/http/docs/assets/tokens.css';
const LOCK_POLL_MS = 200;
const COMPRESSED = /\.(js|css|html|svg)$/;

/** Returns whether a build was needed. */
export async function buildDashboard(): Promise<boolean> {
  const sourceHash = hashOfSources();
  if (isBuilt(sourceHash)) return false;
  mkdirSync(DIST, { recursive: true });
  await using _lock = await lock();
  // Another process may have built it while this one waited for the lock.
  if (!isBuilt(sourceHash)) await build(sourceHash);
  return true;
}

function isBuilt(sourceHash: string): boolean {
  return existsSync(STAMP) && readFileSync(STAMP, 'utf8') === sourceHash;
}

async function build(sourceHash: string): Promise<void> {
  const { build: viteBuild, createLogger } = await import('vite');
  const logger = createLogger('warn');
  const { warnOnce } = logger;
  logger.warnOnce = (message, options) => {
    // The server has the font: the documentation uses it, too.
    if (!message.includes('/docs/inter.woff2')) warnOnce(message, options);
  };
  const fresh = path.join(DIST, `app-${process.pid}`);
  // Test runs set NODE_ENV to test, which would produce a development build.
  const environment = process.env.NODE_ENV;
  process.env.NODE_ENV = 'production';
  try {
    await viteBuild({
      configFile: path.join(ROOT, 'dashboard/vite.config.ts'),
      logLevel: 'warn',
      customLogger: logger,
      build: { outDir: fresh },
    });
    compress(fresh);
    writeFileSync(path.join(fresh, 'built-from.txt'), sourceHash);
    rmSync(APP, { recursive: true, force: true });
    renameSync(fresh, APP);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
    if (environment === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = environment;
  }
}

/** Lets one process build at a time: test workers and a server may start together. */
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
    // The file is empty for a moment between its creation and the write.
    if (owner > 0) process.kill(owner, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

/** Hashes contents, because a checkout changes the modification time of every file. */
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
    console.log('Building the dashboard (on first start and after changes).');
  if (await buildDashboard()) {
    console.log(`Built the dashboard in ${((performance.now() - startedAt) / 1000).toFixed(1)} s.`);
  }
}
