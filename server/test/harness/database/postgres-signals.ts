import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

/** Finds and signals the processes of the PostgreSQL that uses a data directory. */

export async function postmasterOf(postgresDir: string): Promise<number | undefined> {
  const file = path.join(postgresDir, 'postmaster.pid');
  const pid = Number((await readFile(file, 'utf8').catch(() => '')).split('\n')[0]);
  return pid > 1 ? pid : undefined;
}

/** Kills a random child of the postmaster, which then restarts all of them. */
export async function killBackend(postgresDir: string): Promise<void> {
  const children = await childrenOf(await postmasterOf(postgresDir));
  sendSignal(children[randomInt(Math.max(children.length, 1))], 'SIGKILL');
}

/** The postmaster first, so that it starts no backend that would be missed. */
export async function signalPostgres(
  postgresDir: string,
  signal: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL',
): Promise<void> {
  const postmaster = await postmasterOf(postgresDir);
  sendSignal(postmaster, signal);
  for (const child of await childrenOf(postmaster)) sendSignal(child, signal);
}

export function sendSignal(pid: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(pid, signal);
  } catch {
    // It has already exited.
  }
}

/** Linux lists the children in /proc, even where `ps` is not installed. */
async function childrenOf(pid: number | undefined): Promise<number[]> {
  if (pid === undefined) return [];
  const listed = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => undefined);
  if (listed !== undefined) return listed.trim().split(' ').filter(Boolean).map(Number);
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=']);
  return stdout.split('\n').flatMap((line) => {
    const [child, parent] = line.trim().split(/\s+/).map(Number);
    return child !== undefined && parent === pid ? [child] : [];
  });
}
