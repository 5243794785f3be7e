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
const COMPRESSED = /\.(js|css|html|svg)$/;

export async function buildDashboard(): Promise<boolean> {
  const wanted = hashOfSources();
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === wanted) return false;
  const { build } = await import('vite');
  const fresh = path.join(DIST, `app-${process.pid}`);
  try {
    await build({
      configFile: path.join(ROOT, 'dashboard/vite.config.ts'),
      logLevel: 'warn',
      build: { outDir: fresh },
    });
    compress(fresh);
    writeFileSync(path.join(fresh, 'built-from.txt'), wanted);
    mkdirSync(DIST, { recursive: true });
    rmSync(APP, { recursive: true, force: true });
    renameSync(fresh, APP);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
  return true;
}

/** By content, not by time: a checkout makes every file new. */
function hashOfSources(): string {
  const hash = createHash('sha256');
  const sources = projectFiles().filter(
    (file) =>
      (file.startsWith('dashboard/') && !file.endsWith('.test.ts')) || file === 'package-lock.json',
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
  if (await buildDashboard()) {
    console.log(`Built the dashboard in ${((performance.now() - startedAt) / 1000).toFixed(1)} s.`);
  }
}
