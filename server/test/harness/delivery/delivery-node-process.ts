import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { childProgram } from '../child-programs.ts';

export interface DeliveryNodeOptions {
  url: string;
  dns: string;
  mxPort: number;
  leaseMs: number;
  nodeName?: string;
}

/** A delivery node in a child process that can be killed, suspended and resumed. */
export interface DeliveryNodeProcess extends AsyncDisposable {
  kill(): Promise<void>;
  suspend(): void;
  resume(): void;
  /** Sends SIGTERM; resolves when the process has exited. */
  terminate(): Promise<void>;
}

export async function startDeliveryNode(
  options: DeliveryNodeOptions,
): Promise<DeliveryNodeProcess> {
  const given = JSON.stringify({ nodeName: 'node', ...options });
  const child = spawn(process.execPath, [childProgram('delivery-node-main'), given], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  await Promise.race([
    once(child.stdout as NonNullable<ChildProcess['stdout']>, 'data'),
    ended.then(() => {
      throw new Error('The node exited during startup.');
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
