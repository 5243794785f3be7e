import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { childProgram } from './child-programs.ts';
import type { TestDatabase } from './database/database.ts';

/** Runs the command line in a child process, as users do. */

export interface CommandResult {
  code: number | null;
  /** The signal that ended it, if any. */
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface CommandOptions {
  env?: Record<string, string>;
  input?: string;
  /** The file to run instead. */
  main?: string;
  /** Run as this user; requires root. */
  uid?: number;
  /** Write stdout to this file. */
  stdoutFile?: string;
  /** Send SIGTERM when this promise resolves. */
  terminateAfter?: Promise<unknown>;
}

/** The command of the repository, which runs the source. */
export const LAUNCHER = path.join(import.meta.dirname, '../../bin/postrider.js');

export async function runPostrider(
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  const out = options.stdoutFile === undefined ? 'pipe' : openSync(options.stdoutFile, 'a');
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [options.main ?? childProgram('main'), ...args], {
    stdio: ['pipe', out, 'pipe'],
    env: { PATH, HOME, NODE_COMPILE_CACHE, ...options.env },
    ...(options.uid === undefined ? {} : { uid: options.uid }),
  });
  if (typeof out === 'number') closeSync(out);
  child.stdin?.end(options.input ?? '');
  const ended = new Promise<Pick<CommandResult, 'code' | 'signal'>>((resolve) =>
    child.once('exit', (code, signal) => resolve({ code, signal })),
  );
  const outputs = Promise.all([child.stdout, child.stderr].map((one) => (one ? text(one) : '')));
  await options.terminateAfter;
  if (options.terminateAfter) child.kill('SIGTERM');
  const [stdout = '', stderr = ''] = await outputs;
  return { ...(await ended), stdout, stderr };
}

export interface RunningCommand {
  /** The next line of standard output; undefined at its end. */
  nextLine(): Promise<string | undefined>;
  ended: Promise<number | null>;
}

/** Starts a command that prints while it runs. */
export function startPostrider(
  args: readonly string[],
  { env = {} }: Pick<CommandOptions, 'env'>,
): RunningCommand {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [childProgram('main'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH, HOME, NODE_COMPILE_CACHE, ...env },
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    nextLine: async () => (await lines.next()).value,
    ended: new Promise((resolve) => child.once('exit', resolve)),
  };
}

/** Environment variables that point a command to a test's database. */
export function databaseEnv(database: TestDatabase): Record<string, string> {
  return {
    DATABASE_URL: database.url,
    SECRET_KEY: 'a secret key for tests, long enough to be one',
    ALLOW_UNSAFE_DATABASE: 'true',
  };
}
