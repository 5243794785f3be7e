import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from './project-files.ts';
import { releaseChangelog } from './release-changelog.ts';

/**
 * `npm run release -- 0.2.0` prepares a release: versions, the section of the changelog, the API
 * baseline, a commit and a tag. Then release/ contains both packages, their checksums and an SBOM.
 * Nothing is pushed or published; the commands for that are printed. `-- --dry-run` only makes the
 * files in release/, from the working tree as it is.
 */

const MANIFESTS = ['.', 'server', 'dashboard', 'sdk', 'bench'].map((folder) =>
  path.join(ROOT, folder, 'package.json'),
);
/** What is published. */
const PACKAGES = ['./server/dist', './sdk'];
const OUTPUT = path.join(ROOT, 'release');

process.exitCode = release(process.argv.slice(2));

function release(args: readonly string[]): number {
  const isDryRun = args.includes('--dry-run');
  const [version] = args.filter((argument) => !argument.startsWith('--'));
  if (!isDryRun) {
    const problem = problemWith(version);
    if (problem !== undefined) {
      console.error(problem);
      return 2;
    }
    prepare(version as string);
  }
  makeFiles();
  if (!isDryRun) {
    commit(version as string);
    console.log(`\nReleased ${version} locally. To publish it:\n`);
    console.log(`  git push origin main v${version}`);
    for (const file of packages()) console.log(`  npm publish release/${file}`);
  }
  return 0;
}

function problemWith(version: string | undefined): string | undefined {
  if (!/^\d+\.\d+\.\d+$/.test(version ?? ''))
    return 'Usage: npm run release -- VERSION [--dry-run]';
  if (output('git', 'status', '--porcelain') !== '') return 'Commit or stash your changes first.';
  if (output('git', 'tag', '--list', `v${version}`) !== '') return `The tag v${version} exists.`;
  return undefined;
}

function prepare(version: string): void {
  for (const file of MANIFESTS) {
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replace(/"version": "[^"]+"/, `"version": "${version}"`));
  }
  const changelog = path.join(ROOT, 'CHANGELOG.md');
  const today = new Date().toISOString().slice(0, 10);
  writeFileSync(changelog, releaseChangelog(readFileSync(changelog, 'utf8'), version, today));
  run('npm', 'install', '--package-lock-only', '--ignore-scripts');
  run('npm', 'run', 'generate', '--', '--release');
}

function makeFiles(): void {
  rmSync(OUTPUT, { recursive: true, force: true });
  mkdirSync(OUTPUT);
  run('node', 'scripts/build-server.ts');
  for (const folder of PACKAGES) run('npm', 'pack', folder, '--pack-destination', OUTPUT);
  // The lock file is the source: packages for other platforms, which are not installed, count too.
  const sbom = ['sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev', '--package-lock-only'];
  writeFileSync(
    path.join(OUTPUT, 'sbom.cdx.json'),
    output('npm', ...sbom, '--workspace', 'postrider'),
  );
  const sums = readdirSync(OUTPUT).map((file) => {
    const hash = createHash('sha256').update(readFileSync(path.join(OUTPUT, file)));
    return `${hash.digest('hex')}  ${file}\n`;
  });
  writeFileSync(path.join(OUTPUT, 'SHA256SUMS'), sums.join(''));
  console.log(`\nrelease/:\n${sums.join('')}`);
}

function commit(version: string): void {
  run('git', 'commit', '--all', '--message', `release: ${version}`);
  run('git', 'tag', '--annotate', `v${version}`, '--message', `Postrider ${version}`);
}

function packages(): string[] {
  return readdirSync(OUTPUT).filter((file) => file.endsWith('.tgz'));
}

function run(command: string, ...args: string[]): void {
  execFileSync(command, args, { cwd: ROOT, stdio: 'inherit' });
}

function output(command: string, ...args: string[]): string {
  const options = { cwd: ROOT, encoding: 'utf8', maxBuffer: 256 * 1024 * 1024 } as const;
  return execFileSync(command, args, options);
}
