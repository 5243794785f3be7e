import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

export interface NodeOptions {
  url: string;
  dns: string;
  mxPort: number;
  leaseMs: number;
  nodeName?: string;
}

/** A delivery node that can be killed, frozen and thawed like the real thing. */
export interface NodeProcess extends AsyncDisposable {
  kill(): Promise<void>;
  freeze(): void;
  thaw(): void;
  /** SIGTERM; resolves when it has left. */
  leave(): Promise<void>;
}

const SCRIPT = path.join(import.meta.dirname, 'delivery-node-main.ts');

export async function startNode(options: NodeOptions): Promise<NodeProcess> {
  const given = JSON.stringify({ nodeName: 'node', ...options });
  const child = spawn(process.execPath, [SCRIPT, given], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  await Promise.race([
    once(child.stdout as NonNullable<ChildProcess['stdout']>, 'data'),
    ended.then(() => {
      throw new Error('The node ended at its start.');
    }),
  ]);
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await ended;
  };
  return {
    kill: () => end('SIGKILL'),
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    leave: () => end('SIGTERM'),
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) await end('SIGKILL');
    },
  };
}
