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
import { systemClock } from '../../lib/time/clock.ts';
import { StorageStartError } from '../connections/database-errors.ts';
import type { Binaries } from './binaries.ts';
import { giveToFolderOwner } from './give-to-folder-owner.ts';
import { settingsArguments } from './postgres-settings.ts';
import { CHILD_ENVIRONMENT, type RunAs } from './run-as.ts';

const LOG_MAX_BYTES = 10 * 1024 * 1024;
/** Longer than the statement timeout of the pool. */
const LEFTOVERS_END_WITHIN_MS = 60_000;

/** The postmaster of `folder`, or undefined. The pid file is not enough, because pids are reused. */
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

/** Starts a postmaster. Must only be called if none is running. */
export async function launchPostmaster(launch: Launch): Promise<Launched> {
  await removeStaleFiles(launch.folder);
  rotate(launch.logFile);
  const { file, args, ids } = launch.runAs.command(launch.binaries.postgres, [
    '-D',
    launch.folder,
    ...settingsArguments(launch.settings),
  ]);
  const output = openSync(launch.logFile, 'a', 0o600);
  try {
    giveToFolderOwner(launch.logFile);
    // Detached, so that Ctrl-C does not reach it: it is stopped after the server has drained.
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

/** Tries a fast shutdown first and escalates. Committed data is safe in every case. */
export async function stopPostmaster(folder: string, fastMs = 20_000): Promise<void> {
  const pid = findPostmaster(folder);
  if (pid === undefined) return;
  for (const [signal, timeoutMs] of [
    ['SIGINT', fastMs],
    ['SIGQUIT', 5_000],
    ['SIGKILL', 5_000],
  ] as const) {
    signalProcess(pid, signal);
    const deadline = systemClock.now() + timeoutMs;
    while (systemClock.now() < deadline) {
      if (!isPostgresOf(pid, folder)) return;
      await sleep(20);
    }
  }
}

/** The last lines of the log, which contain the reason of a failed start. */
export function tailOf(logFile: string): string {
  try {
    return readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-4).join(' | ');
  } catch {
    return '(no log)';
  }
}

/**
 * After a kill -9 the lock files remain, and their pid may belong to another process by now, which
 * would make PostgreSQL refuse to start. While a backend of the dead postmaster is still working, the
 * refusal is right; such backends end with their statement. They are waited for and never killed,
 * because a process found by searching may be the wrong one.
 */
async function removeStaleFiles(folder: string): Promise<void> {
  const deadline = systemClock.now() + LEFTOVERS_END_WITHIN_MS;
  for (;;) {
    // A concurrent start was first: its lock files are not stale.
    if (findPostmaster(folder) !== undefined) return;
    const left = leftoverProcesses(folder);
    if (left.length === 0) break;
    if (systemClock.now() > deadline) {
      throw new StorageStartError(
        `Processes of a previous PostgreSQL are still running in ${folder}: ${left.join(', ')}. Stop them and start again.`,
      );
    }
    await sleep(20);
  }
  for (const name of ['postmaster.pid', '.s.PGSQL.5432.lock']) {
    removeStaleLock(folder, path.join(folder, name));
  }
}

/** Moved aside before it is inspected, because a concurrent start may replace it at any time. */
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

/** All processes of a cluster have its data folder as their working directory. */
function isPostgresOf(pid: number, folder: string): boolean {
  if (process.platform !== 'linux') return isPostgresByPs(pid, folder);
  try {
    if (readFileSync(`/proc/${pid}/comm`, 'utf8').trim() !== 'postgres') return false;
    const own = statSync(folder);
    const other = statSync(`/proc/${pid}/cwd`);
    return own.ino === other.ino && own.dev === other.dev;
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
    // No log exists yet.
  }
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
