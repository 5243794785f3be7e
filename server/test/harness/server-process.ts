import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

/**
 * The real server in a process of its own, on its embedded database, to be killed and started again.
 */
export interface ServerProcess {
  readonly url: string;
  start(): Promise<void>;
  /** After its database was killed, say. */
  waitUntilReady(): Promise<void>;
  isReady(): Promise<boolean>;
  /** SIGKILL to the server alone: its PostgreSQL lives on as an orphan. */
  kill(): Promise<void>;
  /** SIGKILL to PostgreSQL's main process. */
  killPostgres(): Promise<void>;
  /** SIGKILL to one of PostgreSQL's other processes: it then ends all of them and starts anew. */
  killBackend(): Promise<void>;
  /** SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
  /** The key that a first start prints once the server answers. */
  printedKey(): Promise<string>;
  /** All that the server has printed. */
  readonly output: string;
}

export interface ServerProcessOptions {
  dataDir: string;
  env?: Record<string, string>;
}

/** Recovery of a database takes its time on a busy machine. */
const READY_MS = 180_000;

const MAIN = path.join(import.meta.dirname, '../../src/main.ts');

export async function createServerProcess(options: ServerProcessOptions): Promise<ServerProcess> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  let child: ChildProcess | undefined;
  let output = '';

  async function start(): Promise<void> {
    const started = spawn(process.execPath, [MAIN, 'start'], {
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
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
      throw new Error(`The server ended at its start:\n${output.slice(-4000)}`);
    });
  }

  function isReady(): Promise<boolean> {
    return fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5_000) }).then(
      (answer) => answer.ok,
      () => false,
    );
  }

  /** A server that is never ready again is what these tests look for: it is told, not waited for. */
  async function becomesReady(refuse: () => void = () => {}): Promise<void> {
    await until(
      () => {
        refuse();
        return isReady();
      },
      { timeoutMs: READY_MS, what: () => `the server is ready. It said:\n${output.slice(-4000)}` },
    );
  }

  async function postmaster(): Promise<number | undefined> {
    const file = path.join(options.dataDir, 'postgres', 'postmaster.pid');
    const pid = Number((await readFile(file, 'utf8').catch(() => '')).split('\n')[0]);
    return pid > 1 ? pid : undefined;
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
      sendSigkill(await postmaster());
    },
    async killBackend() {
      const parent = await postmaster();
      const children = parent === undefined ? [] : await childrenOf(parent);
      sendSigkill(children[randomInt(Math.max(children.length, 1))]);
    },
    async stop() {
      child?.kill('SIGTERM');
      return exited();
    },
    get output() {
      return output;
    },
  };
}

/** Linux tells by itself, also where `ps` is not installed. */
async function childrenOf(pid: number): Promise<number[]> {
  const told = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => undefined);
  if (told !== undefined) return told.trim().split(' ').filter(Boolean).map(Number);
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=']);
  return stdout.split('\n').flatMap((line) => {
    const [child, parent] = line.trim().split(/\s+/).map(Number);
    return child !== undefined && parent === pid ? [child] : [];
  });
}

function sendSigkill(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(pid, 'SIGKILL');
  } catch {
    // It was gone already: then there is nothing to kill, and the test goes on.
  }
}

export async function removeDataDir(dataDir: string): Promise<void> {
  await rm(dataDir, { recursive: true, force: true });
}
