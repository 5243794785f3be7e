import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  linkSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { systemClock } from '../../lib/time/clock.ts';
import { SOCKET_NAME, shortSocketFolder } from './socket-path.ts';

/**
 * Prevents two containers that share a data folder from starting PostgreSQL on it at the same time,
 * which would destroy the data. They do not see each other's processes, so neither the pid file nor
 * PostgreSQL's own check of shared memory protects them. Both see the socket: if it accepts
 * connections, PostgreSQL is running. Until the socket exists, a lock file names the owner of a start:
 * the boot id of the machine and the pid namespace.
 */
export class DataDirLock {
  readonly #folder: string;
  readonly #file: string;
  readonly #owner: string | undefined;

  /** Only tests pass `owner`. */
  constructor(folder: string, owner: string | undefined = currentOwner()) {
    this.#folder = folder;
    this.#file = `${folder}.lock`;
    this.#owner = owner;
  }

  /** Whether PostgreSQL is running or starting outside of this pid namespace. */
  async isHeldElsewhere(): Promise<boolean> {
    return this.#isFreshForeignLock(this.#file) || hasListeningSocket(this.#folder);
  }

  /** To be called before a start; false means that PostgreSQL must not be started owner. */
  acquire(): boolean {
    if (this.#owner === undefined) return true;
    // Moved aside before it is inspected, because another start may replace it at any time.
    const aside = `${this.#file}.${randomBytes(6).toString('hex')}`;
    try {
      renameSync(this.#file, aside);
    } catch {
      // No lock file exists.
    }
    const isForeign = this.#isFreshForeignLock(aside);
    try {
      if (isForeign) linkSync(aside, this.#file);
      else writeFileSync(this.#file, this.#owner, { flag: 'wx', mode: 0o600 });
      return !isForeign;
    } catch {
      // Another start was first. In the same namespace the advisory lock decides (claim.ts).
      return readText(this.#file) === this.#owner;
    } finally {
      rmSync(aside, { force: true });
    }
  }

  /** To be called after a stop, so that the next start does not have to wait. */
  release(): void {
    if (this.#owner !== undefined && readText(this.#file) === this.#owner) {
      rmSync(this.#file, { force: true });
    }
  }

  /** An older lock file belongs to a PostgreSQL that has a socket by now, or to one that died. */
  #isFreshForeignLock(file: string): boolean {
    const text = readText(file);
    if (this.#owner === undefined || text === undefined || text === this.#owner) return false;
    const [otherBoot, ownBoot] = [text, this.#owner].map((owner) => owner.split(' ')[0]);
    if (otherBoot !== ownBoot) return false;
    const writtenAtMs = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    return Math.abs(systemClock.now() - writtenAtMs) < FRESH_MS;
  }
}

/** The longest time from the lock file to a listening socket, including initdb. */
const FRESH_MS = 30_000;

/** Undefined on systems without containers. */
function currentOwner(): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return undefined;
  }
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/** A socket of a dead process refuses connections; during crash recovery it accepts them. */
async function hasListeningSocket(folder: string): Promise<boolean> {
  if (!existsSync(path.join(folder, SOCKET_NAME))) return false;
  const short = shortSocketFolder(folder);
  const client = connect(path.join(short.path, SOCKET_NAME));
  try {
    await once(client, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    client.destroy();
    short.release();
  }
}
