import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, constants, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

/** The programs of a Patroni cluster, which are installed by the user, and how to run them. */
export interface PatroniPrograms {
  patroni: string;
  etcd: string;
  /** The folder with initdb, postgres, pg_basebackup and pg_rewind. */
  postgresBin: string;
  /** Names of Patroni and PostgreSQL with their versions. */
  version: string;
  /** PostgreSQL refuses to run as root. */
  ids: { uid: number; gid: number } | undefined;
}

const POSTGRES_PROGRAMS = ['initdb', 'postgres', 'pg_basebackup', 'pg_rewind', 'pg_controldata'];
/** Where Debian and the packages of the PostgreSQL project keep each version. */
const POSTGRES_FOLDERS = ['/usr/lib/postgresql', '/usr'];

/** Throws an error that says what is missing. */
export async function findPatroni(searchPath = process.env.PATH ?? ''): Promise<PatroniPrograms> {
  const folders = searchPath.split(path.delimiter).filter(Boolean);
  const [patroni, etcd, postgresBin] = await Promise.all([
    firstWith(folders, ['patroni']),
    firstWith(folders, ['etcd']),
    firstWith([...(await versionedFolders()), ...folders], POSTGRES_PROGRAMS),
  ]);
  const missing = [
    ...(patroni === undefined ? ['patroni'] : []),
    ...(etcd === undefined ? ['etcd'] : []),
    ...(postgresBin === undefined ? [`PostgreSQL (${POSTGRES_PROGRAMS.join(', ')})`] : []),
  ];
  if (patroni === undefined || etcd === undefined || postgresBin === undefined) {
    throw new Error(
      `--setup patroni needs programs that are not installed: ${missing.join('; ')}. On Debian: apt install patroni etcd-server postgresql.`,
    );
  }
  const programs = { patroni: path.join(patroni, 'patroni'), etcd: path.join(etcd, 'etcd') };
  const versions = await Promise.all([
    versionOf(programs.patroni),
    versionOf(path.join(postgresBin, 'postgres')),
  ]);
  return { ...programs, postgresBin, version: versions.join(', '), ids: await postgresIds() };
}

/** The newest version first. */
async function versionedFolders(): Promise<string[]> {
  const found: { version: number; folder: string }[] = [];
  for (const parent of POSTGRES_FOLDERS) {
    for (const name of await readdir(parent).catch(() => [])) {
      const version = Number(/^(?:pgsql-)?([0-9]+)$/.exec(name)?.[1]);
      if (version > 0) found.push({ version, folder: path.join(parent, name, 'bin') });
    }
  }
  return found.sort((a, b) => b.version - a.version).map(({ folder }) => folder);
}

async function firstWith(
  folders: readonly string[],
  programs: readonly string[],
): Promise<string | undefined> {
  for (const folder of folders) {
    const checks = programs.map((name) => access(path.join(folder, name), constants.X_OK));
    const results = await Promise.allSettled(checks);
    if (results.every(({ status }) => status === 'fulfilled')) return folder;
  }
  return undefined;
}

/** `patroni 3.0.2`, `postgres (PostgreSQL) 15.20 (Debian …)`. */
async function versionOf(program: string): Promise<string> {
  const { stdout } = await promisify(execFile)(program, ['--version']);
  const [version = ''] = /[0-9][0-9.]*/.exec(stdout) ?? [];
  return `${path.basename(program) === 'patroni' ? 'Patroni' : 'PostgreSQL'} ${version}`;
}

async function postgresIds(): Promise<PatroniPrograms['ids']> {
  if (process.getuid?.() !== 0) return undefined;
  const line = (await readFile('/etc/passwd', 'utf8'))
    .split('\n')
    .find((one) => one.startsWith('postgres:'));
  const [, , uid, gid] = (line ?? '').split(':').map(Number);
  if (!uid || !gid) {
    throw new Error(
      'PostgreSQL does not run as root, and there is no account postgres: run as another user.',
    );
  }
  return { uid, gid };
}

const OUTPUT_CHARS = 4_000;

/** A program that is killed and started again. */
export class SupervisedProgram implements AsyncDisposable {
  lastOutput = '';
  readonly #programs: PatroniPrograms;
  readonly #file: string;
  readonly #args: readonly string[];
  readonly #folder: string;
  #child: ChildProcess | undefined;

  constructor(programs: PatroniPrograms, file: string, args: readonly string[], folder: string) {
    this.#programs = programs;
    this.#file = file;
    this.#args = args;
    this.#folder = folder;
  }

  start(): void {
    const child = spawn(this.#file, this.#args, {
      cwd: this.#folder,
      env: {
        PATH: process.env.PATH,
        HOME: this.#folder,
        LC_ALL: 'C.UTF-8',
        // etcd before 3.5 asks for it on other processors than x64.
        ETCD_UNSUPPORTED_ARCH: process.arch,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      ...this.#programs.ids,
    });
    const note = (chunk: Buffer): void => {
      this.lastOutput = (this.lastOutput + chunk).slice(-OUTPUT_CHARS);
    };
    child.stdout.on('data', note);
    child.stderr.on('data', note);
    this.#child = child;
  }

  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }
}
