import { type ChildProcess, fork } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

/**
 * Starts the server under test in a process of its own. It reports its port and API key, and is
 * stopped by `await using`.
 */
export interface Target extends AsyncDisposable {
  port: number;
  key: string;
  /** A key of another workspace. */
  neighborKey: string;
  /** Of the SMTP submission listener; 0 if it is off. */
  submissionPort: number;
  pid: number;
  /** Resident memory of the process in MiB. */
  memoryMiB(): Promise<number>;
  /** CPU time of the process with all its threads, without PostgreSQL. */
  cpuMicros(): Promise<number>;
  /** Fills the database with `count` messages of another tenant. */
  seed(count: number, state: 'delivered' | 'waiting'): Promise<void>;
  /** Adds workspaces that may send from the same domain; returns an API key of each. */
  addWorkspaces(count: number): Promise<string[]>;
  /** Gives all workspaces counts that have not been added up. */
  seedAppendedCounts(): Promise<void>;
  /** Transactions of the database since it was created. */
  transactions(): Promise<number>;
}

export type TargetKind = 'grouped' | 'one-transaction-each' | 'no-request-log' | 'no-storage';

export interface TargetOptions {
  dataDir?: string;
  env?: Record<string, string>;
}

export async function startTarget(kind: TargetKind, options: TargetOptions = {}): Promise<Target> {
  const own = options.dataDir === undefined;
  const dataDir = options.dataDir ?? (await mkdtemp(path.join(tmpdir(), 'postrider-bench-')));
  const child = fork(path.join(import.meta.dirname, 'target-main.ts'), [kind], {
    env: {
      ...process.env,
      DATA_DIR: dataDir,
      PORT: '0',
      SUBMISSION_PORT: 'off',
      RETURN_PATH_PORT: 'off',
      RATE_LIMIT_PER_SECOND: '1000000',
      LOG_LEVEL: 'warn',
      ...options.env,
    },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const started = await nextMessage<Started>(child);
  return {
    ...started,
    pid: child.pid as number,
    async memoryMiB() {
      child.send('memory');
      return (await nextMessage<{ rss: number }>(child)).rss / 1024 / 1024;
    },
    async cpuMicros() {
      child.send('cpu');
      return (await nextMessage<{ cpuMicros: number }>(child)).cpuMicros;
    },
    async seed(count, state) {
      child.send({ seed: count, state });
      await nextMessage(child);
    },
    async addWorkspaces(count) {
      child.send({ workspaces: count });
      return (await nextMessage<{ keys: string[] }>(child)).keys;
    },
    async seedAppendedCounts() {
      child.send('appended counts');
      await nextMessage(child);
    },
    async transactions() {
      child.send('transactions');
      return (await nextMessage<{ transactions: number }>(child)).transactions;
    },
    async [Symbol.asyncDispose]() {
      const exited = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      await exited;
      if (own) await rm(dataDir, { recursive: true, force: true });
    },
  };
}

type Started = Pick<Target, 'port' | 'key' | 'neighborKey' | 'submissionPort'>;

function nextMessage<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null): void =>
      reject(new Error(`The target ended with ${code}`));
    child.once('exit', onExit);
    child.once('message', (message) => {
      child.off('exit', onExit);
      resolve(message as T);
    });
  });
}
