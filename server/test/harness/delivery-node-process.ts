import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

export interface DeliveryNodeOptions {
  url: string;
  dns: string;
  mxPort: number;
  leaseMs: number;
  nodeName?: string;
}

/** A delivery node that can be killed, frozen and thawed like the real thing. */
export interface DeliveryNodeProcess extends AsyncDisposable {
  kill(): Promise<void>;
  suspend(): void;
  resume(): void;
  /** SIGTERM; resolves when it has left. */
  terminate(): Promise<void>;
}

const SCRIPT = path.join(import.meta.dirname, 'delivery-node-main.ts');

export async function startDeliveryNode(options: DeliveryNodeOptions): Promise<DeliveryNodeProcess> {
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
    suspend: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    terminate: () => end('SIGTERM'),
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) await end('SIGKILL');
    },
  };
}
