import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../lib/clock.ts';
import { StorageStartError } from '../start-error.ts';
import type { Binaries } from './binaries.ts';
import { CHILD_ENVIRONMENT, type RunAs } from './run-as.ts';
import { settingsArguments } from './settings.ts';

const LOG_MAX_BYTES = 10 * 1024 * 1024;
/** Longer than the pool's longest statement. */
const LEFTOVERS_END_WITHIN_MS = 60_000;

/** The process that serves `folder` now, or undefined. A number in a file is no proof: pids return. */
export function findPostmaster(folder: string): number | undefined {
  const pid = pidIn(path.join(folder, 'postmaster.pid'));
  return pid !== undefined && isPostgresOf(pid, folder) ? pid : undefined;
}

export interface Launch {
  folder: string;
  logFile: string;
  binaries: Binaries;
  runAs: RunAs;
  settings: Readonly<Record<string, string>>;
}

export interface Launched {
  hasEnded(): boolean;
}

/** Starts a postmaster. Must be called only when none runs. */
export async function launchPostmaster(launch: Launch): Promise<Launched> {
  await clearRemains(launch.folder);
  rotate(launch.logFile);
  const { file, args, ids } = launch.runAs.command(launch.binaries.postgres, [
    '-D',
    launch.folder,
    ...settingsArguments(launch.settings),
  ]);
  const output = openSync(launch.logFile, 'a', 0o600);
  try {
    // In a process group of its own: Ctrl-C at the terminal is for us alone, we stop it when drained.
    const child = spawn(file, args, {
      ...ids,
      cwd: '/',
      detached: true,
      stdio: ['ignore', output, output],
      env: CHILD_ENVIRONMENT,
    });
    child.unref();
    let ended = false;
    for (const event of ['exit', 'error']) {
      child.once(event, () => {
        ended = true;
      });
    }
    return { hasEnded: () => ended };
  } finally {
    closeSync(output);
  }
}

/** Fast shutdown first; when that hangs, harder. What was committed is safe in each case. */
export async function stopPostmaster(folder: string, fastMs = 20_000): Promise<void> {
  const pid = findPostmaster(folder);
  if (pid === undefined) return;
  for (const [signal, patienceMs] of [
    ['SIGINT', fastMs],
    ['SIGQUIT', 5_000],
    ['SIGKILL', 5_000],
  ] as const) {
    signalProcess(pid, signal);
    const deadline = systemClock.now() + patienceMs;
    while (systemClock.now() < deadline) {
      if (!isPostgresOf(pid, folder)) return;
      await sleep(20);
    }
  }
}

/** The last lines the server wrote: the reason when it did not start. */
export function tailOf(logFile: string): string {
  try {
    return readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-4).join(' | ');
  } catch {
    return 'no log was written';
  }
}

/**
 * After a kill -9 the lock files stay, and by then their pid may be any other process: PostgreSQL
 * would take that one for a rival and refuse. It refuses rightly while a backend of the dead
 * postmaster still works; those end by themselves with their statement. We wait and never kill
 * them: a process found by searching is too easily the wrong one.
 */
async function clearRemains(folder: string): Promise<void> {
  const deadline = systemClock.now() + LEFTOVERS_END_WITHIN_MS;
  for (;;) {
    // A start beside ours was quicker: what we see is no remains, and no lock of it is stale.
    if (findPostmaster(folder) !== undefined) return;
    const left = leftoverProcesses(folder);
    if (left.length === 0) break;
    if (systemClock.now() > deadline) {
      throw new StorageStartError(
        `Processes of an earlier PostgreSQL still work in ${folder}: ${left.join(', ')}. End them, then start again.`,
      );
    }
    await sleep(20);
  }
  for (const name of ['postmaster.pid', '.s.PGSQL.5432.lock']) {
    removeStaleLock(folder, path.join(folder, name));
  }
}

/** Moved aside before it is judged: a start beside us may just have put its own in this place. */
function removeStaleLock(folder: string, file: string): void {
  const aside = `${file}.stale-${randomBytes(6).toString('hex')}`;
  try {
    renameSync(file, aside);
  } catch {
    return;
  }
  const pid = pidIn(aside);
  if (pid !== undefined && isPostgresOf(pid, folder)) linkSync(aside, file);
  rmSync(aside, { force: true });
}

function pidIn(file: string): number | undefined {
  try {
    const pid = Number.parseInt(readFileSync(file, 'utf8'), 10);
    return Number.isSafeInteger(pid) && pid > 1 ? pid : undefined;
  } catch {
    return undefined;
  }
}

/** Each process of a cluster works inside its data folder, which tells it from every other. */
function isPostgresOf(pid: number, folder: string): boolean {
  if (process.platform !== 'linux') return isPostgresByPs(pid, folder);
  try {
    if (readFileSync(`/proc/${pid}/comm`, 'utf8').trim() !== 'postgres') return false;
    const here = statSync(folder);
    const there = statSync(`/proc/${pid}/cwd`);
    return here.ino === there.ino && here.dev === there.dev;
  } catch {
    return false;
  }
}

function isPostgresByPs(pid: number, folder: string): boolean {
  try {
    const command = execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return command.includes('postgres') && command.includes(`-D ${folder} `);
  } catch {
    return false;
  }
}

function leftoverProcesses(folder: string): number[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name))
    .map(Number)
    .filter((pid) => isPostgresOf(pid, folder));
}

function rotate(logFile: string): void {
  try {
    if (statSync(logFile).size > LOG_MAX_BYTES) renameSync(logFile, `${logFile}.1`);
  } catch {
    // There is none yet.
  }
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
