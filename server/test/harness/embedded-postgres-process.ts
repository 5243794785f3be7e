import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';

/** Another process that holds the embedded PostgreSQL of a folder, to be killed by a test. */
export interface EmbeddedPostgresProcess {
  pid: number;
  postmaster: number;
  kill(signal: NodeJS.Signals): Promise<void>;
}

/** `behind` is a command with its arguments that runs the holder: one that shuts it off, say. */
export async function startEmbeddedProcess(
  dataDir: string,
  wrapper: readonly string[] = [],
): Promise<EmbeddedPostgresProcess> {
  const program = path.join(import.meta.dirname, 'embedded-postgres-main.ts');
  const [command = '', ...args] = [...wrapper, process.execPath, program, dataDir];
  const child: ChildProcess = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  // Also when the test fails: nobody waits for one that is forgotten.
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const [line] = (await once(lines, 'line')) as [string];
  const { postmaster, refusal } = JSON.parse(line) as { postmaster?: number; refusal?: string };
  if (postmaster === undefined) throw new Error(refusal);
  return {
    pid: child.pid as number,
    postmaster,
    async kill(signal) {
      const gone = once(child, 'exit');
      child.kill(signal);
      await gone;
    },
  };
}
