import { type ChildProcess, spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { childProgram } from './child-programs.ts';
import { killBackend, postmasterOf, sendSignal } from './database/postgres-signals.ts';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

/** The real server in a child process with its embedded database, to be killed and restarted. */
export interface ServerProcess {
  readonly url: string;
  start(): Promise<void>;
  /** Waits until it is ready again, for example after its database was killed. */
  waitUntilReady(): Promise<void>;
  isReady(): Promise<boolean>;
  /** Sends SIGKILL to the server only: its PostgreSQL is orphaned. */
  kill(): Promise<void>;
  /** Sends SIGKILL to PostgreSQL's main process. */
  killPostgres(): Promise<void>;
  /** Sends SIGKILL to a random PostgreSQL backend; PostgreSQL then restarts all of them. */
  killBackend(): Promise<void>;
  /** Sends SIGSTOP: the process keeps its sockets and leases, and does nothing until it is resumed. */
  suspend(): void;
  resume(): void;
  /** Sends SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
  /** The API key that the first start prints. */
  printedKey(): Promise<string>;
  /** Everything that the server has printed. */
  readonly output: string;
}

export interface ServerProcessOptions {
  dataDir: string;
  env?: Record<string, string>;
  /** The file to run instead. */
  main?: string;
  /** Options of Node, before the file to run. */
  nodeOptions?: readonly string[];
}

/** Crash recovery of the database takes long on a busy machine. */
const READY_MS = 180_000;
const READY_POLL_MS = 25;

export async function createServerProcess(options: ServerProcessOptions): Promise<ServerProcess> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const postgresDir = path.join(options.dataDir, 'postgres');
  let child: ChildProcess | undefined;
  let output = '';

  async function start(): Promise<void> {
    const { nodeOptions = [], main = childProgram('main') } = options;
    const started = spawn(process.execPath, [...nodeOptions, main, 'start'], {
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
        PORT: String(port),
        SUBMISSION_PORT: 'off',
        RETURN_PATH_PORT: 'off',
        DATA_DIR: options.dataDir,
        LOG_LEVEL: 'warn',
        RATE_LIMIT_PER_SECOND: '100000',
        ...options.env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child = started;
    started.stdout?.on('data', (chunk: Buffer) => {
      output += chunk;
    });
    started.stderr?.on('data', (chunk: Buffer) => {
      output += chunk;
    });
    await becomesReady(() => {
      if (started.exitCode === null && started.signalCode === null) return;
      throw new Error(`The server exited during startup:\n${output.slice(-4000)}`);
    });
  }

  function isReady(): Promise<boolean> {
    return fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5_000) }).then(
      (answer) => answer.ok,
      () => false,
    );
  }

  /** Fails with the output when the server does not become ready in time. */
  async function becomesReady(refuse: () => void = () => {}): Promise<void> {
    await until(
      async () => {
        refuse();
        if (await isReady()) return true;
        // A check costs processor time that the start needs.
        await sleep(READY_POLL_MS);
        return false;
      },
      {
        timeoutMs: READY_MS,
        what: () => `the server is ready. Its output:\n${output.slice(-4000)}`,
      },
    );
  }

  function exited(): Promise<number | null> {
    const ended = child;
    if (!ended || ended.exitCode !== null || ended.signalCode !== null) {
      return Promise.resolve(ended?.exitCode ?? null);
    }
    return new Promise((resolve) => ended.once('exit', (code) => resolve(code)));
  }

  return {
    url,
    start,
    waitUntilReady: () => becomesReady(),
    isReady,
    async kill() {
      child?.kill('SIGKILL');
      await exited();
    },
    async printedKey() {
      let key: string | undefined;
      await until(() => {
        [key] = /pr_test_\w{38}/.exec(output) ?? [];
        return key !== undefined;
      });
      return key as string;
    },
    async killPostgres() {
      sendSignal(await postmasterOf(postgresDir), 'SIGKILL');
    },
    killBackend: () => killBackend(postgresDir),
    suspend: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
    async stop() {
      child?.kill('SIGTERM');
      return exited();
    },
    get output() {
      return output;
    },
  };
}

export async function removeDataDir(dataDir: string): Promise<void> {
  await rm(dataDir, { recursive: true, force: true });
}
