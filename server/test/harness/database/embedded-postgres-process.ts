import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import { childProgram } from '../child-programs.ts';

/** A child process that runs the embedded PostgreSQL of a folder, for tests that kill it. */
export interface EmbeddedPostgresProcess {
  pid: number;
  postmaster: number;
  kill(signal: NodeJS.Signals): Promise<void>;
}

/** `wrapper` is a command that runs the process, for example in its own namespace. */
export async function startEmbeddedProcess(
  dataDir: string,
  wrapper: readonly string[] = [],
): Promise<EmbeddedPostgresProcess> {
  const program = childProgram('embedded-postgres-main');
  const [command = '', ...args] = [...wrapper, process.execPath, program, dataDir];
  const child: ChildProcess = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  // Clean up after failed tests too.
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const [line] = (await once(lines, 'line')) as [string];
  const { postmaster, refusal } = JSON.parse(line) as { postmaster?: number; refusal?: string };
  if (postmaster === undefined) throw new Error(refusal);
  return {
    pid: child.pid as number,
    postmaster,
    async kill(signal) {
      const exited = once(child, 'exit');
      child.kill(signal);
      await exited;
    },
  };
}
