import { access, constants, stat, statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import type { Config } from '../../config/read-config.ts';
import { type Finding, fail, ok, warn } from './finding.ts';
import { reachable } from './network-checks.ts';

/** The machine: its Node, its folder, its port. */

const NODE_MAJOR = 24;

export function checkNode(version: string): Finding {
  const major = Number(version.replace(/^v/, '').split('.')[0]);
  return major >= NODE_MAJOR
    ? ok('node', `Node ${version}.`)
    : fail('node', `Node ${version} is too old.`, `Run "npm ci": it brings Node ${NODE_MAJOR}.`);
}

/** The nearest folder that exists must be ours to write: the rest is made at the first start. */
export async function checkFolder(dataDir: string): Promise<Finding> {
  const name = 'data folder';
  let folder = dataDir;
  while ((await kindOf(folder)) === 'absent') folder = path.dirname(folder);
  if ((await kindOf(folder)) === 'file') {
    return fail(name, `${folder} is a file.`, 'Set DATA_DIR to a folder.');
  }
  try {
    await access(folder, constants.W_OK | constants.X_OK);
  } catch {
    return fail(name, `${folder} may not be written.`, 'Set DATA_DIR to a folder of this user.');
  }
  return folder === dataDir
    ? ok(name, `${dataDir} may be written.`)
    : ok(name, `${dataDir} will be made at the first start.`);
}

const SPACE_LOW_BYTES = 2 * 1024 ** 3;
const SPACE_OUT_BYTES = 256 * 1024 ** 2;

export async function checkSpace(dataDir: string): Promise<Finding> {
  let folder = dataDir;
  while ((await kindOf(folder)) === 'absent') folder = path.dirname(folder);
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const detail = `${(free / 1024 ** 3).toFixed(1)} GiB are free at ${folder}.`;
  const fix = 'Make room: a full disk stops the database, and with it all accepting.';
  if (free < SPACE_OUT_BYTES) return fail('disk', detail, fix);
  return free < SPACE_LOW_BYTES ? warn('disk', detail, fix) : ok('disk', detail);
}

async function kindOf(place: string): Promise<'folder' | 'file' | 'absent'> {
  try {
    return (await stat(place)).isDirectory() ? 'folder' : 'file';
  } catch {
    return 'absent';
  }
}

/** Free, or ours already. */
export async function checkPort({ host, port }: Config['http']): Promise<Finding> {
  const name = 'port';
  const taken = await listenError(host, port);
  if (taken === undefined) return ok(name, `${host}:${port} is free: no server runs there.`);
  if (taken !== 'EADDRINUSE') {
    return fail(name, `${host}:${port} cannot be listened on (${taken}).`, 'Set HOST and PORT.');
  }
  return (await isOurs(host, port))
    ? ok(name, `A Postrider server runs on ${host}:${port}.`)
    : fail(name, `Another program listens on ${host}:${port}.`, 'Set PORT to a free one.');
}

function listenError(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port }, () => server.close(() => resolve(undefined)));
  });
}

async function isOurs(host: string, port: number): Promise<boolean> {
  const near = reachable(host);
  const address = near.includes(':') ? `[${near}]` : near;
  try {
    const answer = await fetch(`http://${address}:${port}/healthz`, {
      signal: AbortSignal.timeout(3000),
    });
    return answer.ok && ((await answer.json()) as { status?: unknown }).status === 'ok';
  } catch {
    return false;
  }
}
