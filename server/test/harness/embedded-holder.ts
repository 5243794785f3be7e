import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';

/** Another process that holds the embedded PostgreSQL of a folder, to be killed by a test. */
export interface EmbeddedHolder {
  pid: number;
  postmaster: number;
  kill(signal: NodeJS.Signals): Promise<void>;
}

export async function holdEmbedded(dataDir: string): Promise<EmbeddedHolder> {
  const program = path.join(import.meta.dirname, 'hold-embedded.ts');
  const child: ChildProcess = spawn(process.execPath, [program, dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
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
