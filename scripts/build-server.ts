import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import path from 'node:path';
import { buildDashboard } from './build-dashboard.ts';
import { projectFiles, ROOT } from './project-files.ts';

/**
 * Builds the npm package `postrider` in server/dist. Node refuses to strip types below node_modules,
 * so the package contains JavaScript: the same files with their types blanked out, as Node does it
 * here, so that positions in stack traces stay the same. The package has the layout of the
 * repository, so everything that the server reads next to its source is found in both.
 */

export const SERVER_PACKAGE = path.join(ROOT, 'server/dist');

const INCLUDED = [
  /^server\/(src|bin)\//,
  // The command line uses the client library.
  /^sdk\/src\//,
  // Served at /docs.
  /^docs\/[^/]+\.(md|svg)$/,
  /^sdk\/README\.md$/,
];
const EXCLUDED = /\.test\.ts$|\.d\.ts$/;

export async function buildServer(): Promise<void> {
  await buildDashboard();
  rmSync(SERVER_PACKAGE, { recursive: true, force: true });
  const files = projectFiles().filter(
    (file) => INCLUDED.some((pattern) => pattern.test(file)) && !EXCLUDED.test(file),
  );
  for (const file of files) {
    const content = readFileSync(path.join(ROOT, file));
    if (file.endsWith('.ts')) write(file.replace(/\.ts$/, '.js'), toJavaScript(content.toString()));
    else write(file, content);
  }
  copy('dashboard/dist/app', 'dashboard/dist/app');
  copy('LICENSE', 'LICENSE');
  copy('server/README.md', 'README.md');
  // The server reads its version there.
  copy('server/package.json', 'server/package.json');
  write('package.json', `${JSON.stringify(manifest(), null, 2)}\n`);
}

/** Relative paths of modules and of worker threads then end in .js. */
function toJavaScript(source: string): string {
  return stripTypeScriptTypes(source).replaceAll(
    /(['"])(\.{1,2}\/[^'"\n]+)\.ts\1/g,
    (_, quote: string, name: string) => `${quote}${name}.js${quote}`,
  );
}

interface Manifest {
  [field: string]: unknown;
  bin: Record<string, string>;
  optionalDependencies: Record<string, string>;
}

/** The server's dependencies, and Node itself for users of older versions. */
function manifest(): Manifest {
  const { private: _, devDependencies: __, bin, ...server } = readManifest('server/package.json');
  const { optionalDependencies: node } = readManifest('package.json');
  return {
    ...server,
    bin: Object.fromEntries(Object.entries(bin).map(([name, file]) => [name, `server/${file}`])),
    optionalDependencies: { ...server.optionalDependencies, ...node },
  };
}

function readManifest(file: string): Manifest {
  return JSON.parse(readFileSync(path.join(ROOT, file), 'utf8')) as Manifest;
}

function copy(from: string, to: string): void {
  cpSync(path.join(ROOT, from), path.join(SERVER_PACKAGE, to), { recursive: true });
}

function write(file: string, content: string | Buffer): void {
  const target = path.join(SERVER_PACKAGE, file);
  mkdirSync(path.dirname(target), { recursive: true });
  writeFileSync(target, content);
}

if (import.meta.main) await buildServer();
