import { access, constants, stat, statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import type { Config } from '../../config/read-config.ts';
import { type CheckResult, fail, ok, warn } from './doctor-result.ts';
import { connectableHost } from './network-checks.ts';

/** Checks of the host: Node version, data directory, disk space, port. */

const NODE_MAJOR = 24;

export function checkNode(version: string): CheckResult {
  const major = Number(version.replace(/^v/, '').split('.')[0]);
  return major >= NODE_MAJOR
    ? ok('node', `Node ${version}.`)
    : fail('node', `Node ${version} is too old.`, `Run "npm ci" to install Node ${NODE_MAJOR}.`);
}

/** The nearest existing directory must be writable; the rest is created on first start. */
export async function checkDataDir(dataDir: string): Promise<CheckResult> {
  const name = 'data directory';
  let folder = dataDir;
  while ((await kindOf(folder)) === 'absent') folder = path.dirname(folder);
  if ((await kindOf(folder)) === 'file') {
    return fail(name, `${folder} is a file.`, 'Set DATA_DIR to a directory.');
  }
  try {
    await access(folder, constants.W_OK | constants.X_OK);
  } catch {
    return fail(
      name,
      `${folder} is not writable.`,
      'Run the command as its owner, or set DATA_DIR to a directory that this user can write to.',
    );
  }
  return folder === dataDir
    ? ok(name, `${dataDir} is writable.`)
    : ok(name, `${dataDir} will be created on first start.`);
}

const DISK_LOW_BYTES = 2 * 1024 ** 3;
const DISK_FULL_BYTES = 256 * 1024 ** 2;

export async function checkDiskSpace(dataDir: string): Promise<CheckResult> {
  let folder = dataDir;
  while ((await kindOf(folder)) === 'absent') folder = path.dirname(folder);
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const detail = `${(free / 1024 ** 3).toFixed(1)} GiB free at ${folder}.`;
  const fix = 'Free up disk space: a full disk stops the database and with it all sending.';
  if (free < DISK_FULL_BYTES) return fail('disk', detail, fix);
  return free < DISK_LOW_BYTES ? warn('disk', detail, fix) : ok('disk', detail);
}

async function kindOf(file: string): Promise<'folder' | 'file' | 'absent'> {
  try {
    return (await stat(file)).isDirectory() ? 'folder' : 'file';
  } catch {
    return 'absent';
  }
}

/** The port is free, or a Postrider server listens on it. */
export async function checkPort({ host, port }: Config['http']): Promise<CheckResult> {
  const name = 'port';
  const listenFailure = await listenError(host, port);
  if (listenFailure === undefined)
    return ok(name, `${host}:${port} is free; no server is running there.`);
  if (listenFailure !== 'EADDRINUSE') {
    return fail(name, `Cannot listen on ${host}:${port} (${listenFailure}).`, 'Set HOST and PORT.');
  }
  return (await isPostrider(host, port))
    ? ok(name, `A Postrider server is running on ${host}:${port}.`)
    : fail(name, `Another program is listening on ${host}:${port}.`, 'Set PORT to a free port.');
}

function listenError(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port }, () => server.close(() => resolve(undefined)));
  });
}

const RESPONSE_TIMEOUT_MS = 10_000;

async function isPostrider(host: string, port: number): Promise<boolean> {
  const connectHost = connectableHost(host);
  const address = connectHost.includes(':') ? `[${connectHost}]` : connectHost;
  try {
    const response = await fetch(`http://${address}:${port}/healthz`, {
      signal: AbortSignal.timeout(RESPONSE_TIMEOUT_MS),
    });
    return response.ok && ((await response.json()) as { status?: unknown }).status === 'ok';
  } catch {
    return false;
  }
}
