import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from './project-files.ts';
import { releaseChangelog } from './release-changelog.ts';
import { type LockFile, sbomOf } from './sbom.ts';

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
const CHANGELOG = path.join(ROOT, 'CHANGELOG.md');

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
    const branch = output('git', 'branch', '--show-current').trim();
    console.log(`  git push origin ${branch} v${version}`);
    for (const file of packages()) console.log(`  npm publish release/${file}`);
  }
  return 0;
}

function problemWith(version: string | undefined): string | undefined {
  if (!/^\d+\.\d+\.\d+$/.test(version ?? ''))
    return 'Usage: npm run release -- VERSION, or npm run release -- --dry-run';
  if (output('git', 'status', '--porcelain') !== '') return 'Commit or stash your changes first.';
  if (output('git', 'branch', '--show-current') === '') return 'Check out a branch first.';
  if (output('git', 'tag', '--list', `v${version}`) !== '') return `The tag v${version} exists.`;
  try {
    releasedChangelog(version as string);
  } catch (error) {
    return (error as Error).message;
  }
  return undefined;
}

function prepare(version: string): void {
  for (const file of MANIFESTS) {
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replace(/"version": "[^"]+"/, `"version": "${version}"`));
  }
  writeFileSync(CHANGELOG, releasedChangelog(version));
  run('npm', 'install', '--package-lock-only', '--ignore-scripts');
  run('npm', 'run', 'generate', '--', '--release');
}

function releasedChangelog(version: string): string {
  const today = new Date().toISOString().slice(0, 10);
  return releaseChangelog(readFileSync(CHANGELOG, 'utf8'), version, today);
}

function makeFiles(): void {
  rmSync(OUTPUT, { recursive: true, force: true });
  mkdirSync(OUTPUT);
  run('node', '--disable-warning=ExperimentalWarning', 'scripts/build-server.ts');
  for (const folder of PACKAGES)
    run('npm', 'pack', folder, '--pack-destination', OUTPUT, '--loglevel=error');
  const read = (file: string) => JSON.parse(readFileSync(path.join(ROOT, file), 'utf8'));
  const sbom = sbomOf(read('package-lock.json') as LockFile, read('package.json').version);
  writeFileSync(path.join(OUTPUT, 'sbom.cdx.json'), `${JSON.stringify(sbom, null, 2)}\n`);
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
  return execFileSync(command, args, { cwd: ROOT, encoding: 'utf8' });
}
