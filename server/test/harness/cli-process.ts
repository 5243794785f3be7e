import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import type { TestDatabase } from './database.ts';

/** The command line as people run it: a process of its own. */

export interface CommandResult {
  code: number | null;
  /** What ended it, when it did not end by itself. */
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface CommandOptions {
  env?: Record<string, string>;
  input?: string;
  /** As another user; only root may. */
  uid?: number;
  /** Where its answers go instead of `stdout`. */
  stdoutFile?: string;
  /** It is told to end, by SIGTERM, once this is settled. */
  terminateAfter?: Promise<unknown>;
}

const LAUNCHER = path.join(import.meta.dirname, '../../bin/postrider.js');

export async function runPostrider(
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  const out = options.stdoutFile === undefined ? 'pipe' : openSync(options.stdoutFile, 'a');
  const child = spawn(process.execPath, [LAUNCHER, ...args], {
    stdio: ['pipe', out, 'pipe'],
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...options.env },
    ...(options.uid === undefined ? {} : { uid: options.uid }),
  });
  if (typeof out === 'number') closeSync(out);
  child.stdin?.end(options.input ?? '');
  const ended = new Promise<Pick<CommandResult, 'code' | 'signal'>>((resolve) =>
    child.once('exit', (code, signal) => resolve({ code, signal })),
  );
  const told = Promise.all([child.stdout, child.stderr].map((one) => (one ? text(one) : '')));
  await options.terminateAfter;
  if (options.terminateAfter) child.kill('SIGTERM');
  const [stdout = '', stderr = ''] = await told;
  return { ...(await ended), stdout, stderr };
}

/** The settings by which a command finds the database of a test. */
export function databaseEnv(database: TestDatabase): Record<string, string> {
  return {
    DATABASE_URL: database.url,
    SECRET_KEY: 'a secret key for tests, long enough to be one',
    ALLOW_UNSAFE_DATABASE: 'true',
  };
}
