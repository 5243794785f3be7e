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
import { systemClock } from '../../lib/clock.ts';
import { SOCKET_NAME, shortSocketFolder } from './socket.ts';

/**
 * Containers may share a folder and do not see each other's processes: there a pid that nobody has
 * is no proof that PostgreSQL ended, and its own look at shared memory finds nothing either. A second
 * PostgreSQL on the same files destroys them. All of them see the socket: where somebody listens, one
 * runs. And because it takes a while until somebody does, whoever starts one leaves word before, and
 * from where: the machine since it was started, and in it the space in which its pids count.
 */
export class Whereabouts {
  readonly #folder: string;
  readonly #file: string;
  readonly #here: string | undefined;

  /** `here` is given by tests alone. */
  constructor(folder: string, here: string | undefined = whereWeAre()) {
    this.#folder = folder;
    this.#file = `${folder}.where`;
    this.#here = here;
  }

  /** Whether a PostgreSQL that we cannot see works in the folder, or is about to. */
  async elsewhere(): Promise<boolean> {
    return this.#isYoungFromElsewhere(this.#file) || listens(this.#folder);
  }

  /** Before a start. False when another one was quicker: then there must be no start here. */
  leaveWord(): boolean {
    if (this.#here === undefined) return true;
    // Moved aside before it is judged: a start elsewhere may just have put its own in this place.
    const aside = `${this.#file}.${randomBytes(6).toString('hex')}`;
    try {
      renameSync(this.#file, aside);
    } catch {
      // There is none.
    }
    const isOthers = this.#isYoungFromElsewhere(aside);
    try {
      if (isOthers) linkSync(aside, this.#file);
      else writeFileSync(this.#file, this.#here, { flag: 'wx', mode: 0o600 });
      return !isOthers;
    } catch {
      // Somebody was quicker; one that we can see is told from us by its lock.
      return textOf(this.#file) === this.#here;
    } finally {
      rmSync(aside, { force: true });
    }
  }

  /** After a stop: who comes next need not wait. */
  takeBack(): void {
    if (this.#here !== undefined && textOf(this.#file) === this.#here) {
      rmSync(this.#file, { force: true });
    }
  }

  /** An older word than that has its socket, or was left by one that died. */
  #isYoungFromElsewhere(file: string): boolean {
    const word = textOf(file);
    if (this.#here === undefined || word === undefined || word === this.#here) return false;
    const [bootThere, bootHere] = [word, this.#here].map((place) => place.split(' ')[0]);
    if (bootThere !== bootHere) return false;
    const writtenAtMs = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    return Math.abs(systemClock.now() - writtenAtMs) < STARTING_MS;
  }
}

/** From the word to a socket that listens: making a new cluster takes the longest. */
const STARTING_MS = 30_000;

/** Undefined where there are no containers to care for. */
function whereWeAre(): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return undefined;
  }
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

/** A socket whose owner has died refuses; one that recovers from a crash listens. */
async function listens(folder: string): Promise<boolean> {
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
