import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

/** A version of the server from which `npm run prove -- --upgrade-from` upgrades. */
export interface EarlierVersion {
  description: string;
  /** The file that starts a server, and the one of the command line. */
  main: string;
  launcher: string;
}

const ROOT = path.join(import.meta.dirname, '../../..');
/** Scripts of packages only prepare the embedded PostgreSQL, which is not used. */
const NPM_OPTIONS = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'];
const OUTPUT_BYTES_MAX = 2 ** 26;

/** From a package file (.tgz), or from a tag or another commit of this repository. */
export function installEarlierVersion(from: string, folder: string): Promise<EarlierVersion> {
  if (/\.tgz$/.test(from)) return fromPackage(path.resolve(from), folder);
  return fromCommit(from, folder);
}

async function fromPackage(file: string, folder: string): Promise<EarlierVersion> {
  if (!existsSync(file)) throw new Error(`--upgrade-from: ${file} does not exist.`);
  const own = path.join(folder, 'earlier');
  await mkdir(own);
  await writeFile(path.join(own, 'package.json'), '{"private":true}');
  await run('npm', ['install', ...NPM_OPTIONS, file], own);
  const server = path.join(own, 'node_modules/postrider/server');
  const main = path.join(server, 'src/main.js');
  if (!existsSync(main)) throw new Error(`--upgrade-from: ${file} is not a package of the server.`);
  return {
    description: path.basename(file),
    main,
    launcher: path.join(server, 'bin/postrider.js'),
  };
}

async function fromCommit(ref: string, folder: string): Promise<EarlierVersion> {
  const find = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`];
  const found = await run('git', find, ROOT).catch(() => undefined);
  if (found === undefined) {
    throw new Error(
      `--upgrade-from: ${ref} is neither a package file (.tgz) nor a commit of this repository.`,
    );
  }
  const commit = found.trim();
  const own = path.join(folder, 'earlier');
  const archive = path.join(folder, 'earlier.tar');
  await mkdir(own);
  await run('git', ['archive', '--output', archive, commit], ROOT);
  await run('tar', ['-xf', archive, '-C', own], ROOT);
  const parts = ['--omit=dev', '--workspace', 'server', '--include-workspace-root'];
  await run('npm', ['ci', ...parts, ...NPM_OPTIONS], own);
  const short = commit.slice(0, 10);
  return {
    description: short.startsWith(ref) || ref.startsWith(short) ? short : `${ref} (${short})`,
    main: path.join(own, 'server/src/main.ts'),
    launcher: path.join(own, 'server/bin/postrider.js'),
  };
}

async function run(file: string, args: readonly string[], cwd: string): Promise<string> {
  const { stdout } = await promisify(execFile)(file, args, { cwd, maxBuffer: OUTPUT_BYTES_MAX });
  return stdout;
}
