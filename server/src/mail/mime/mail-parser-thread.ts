import { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '../../lib/clock.ts';
import { type FieldError, RefusedError } from '../../lib/refused-error.ts';
import type { Submitted } from '../../smtp/submission/mail-to-send-request.ts';
import { unreadable } from './parse-mail.ts';

/**
 * A thread that reads mail, one after the other, within limits of memory and time: hostile mail ends
 * that thread at worst. Workspaces take turns, so that one with much mail holds up its own.
 */

export interface Asked {
  data: Uint8Array;
  recipients: readonly string[];
}

export type Told =
  | { submitted: Submitted }
  | { code: string; detail: string; errors: readonly FieldError[] };

interface Waiting {
  asked: Asked;
  resolve(submitted: Submitted): void;
  reject(error: unknown): void;
}

const READING_MS_MAX = 30_000;
const IDLE_MS = 60_000;
const YOUNG_MEMORY_MB = 64;

export class ReadingThread {
  readonly #clock: Clock;
  readonly #memoryMb: number;
  /** In the order of their turns: who has been served goes to the end. */
  readonly #waiting = new Map<string, Waiting[]>();
  #worker: Worker | undefined;
  #idle: Timer | undefined;
  #busy = false;

  constructor(clock: Clock, memoryMb: number) {
    this.#clock = clock;
    this.#memoryMb = memoryMb;
  }

  read(workspaceId: string, asked: Asked): Promise<Submitted> {
    return new Promise((resolve, reject) => {
      const line = this.#waiting.get(workspaceId);
      const one = { asked, resolve, reject };
      if (line) line.push(one);
      else this.#waiting.set(workspaceId, [one]);
      if (!this.#busy) void this.#work();
    });
  }

  async stop(): Promise<void> {
    this.#idle?.cancel();
    await this.#worker?.terminate();
    this.#worker = undefined;
  }

  async #work(): Promise<void> {
    this.#busy = true;
    this.#idle?.cancel();
    for (let next = this.#next(); next; next = this.#next()) {
      await this.#readOne(next.asked).then(next.resolve, next.reject);
    }
    this.#busy = false;
    this.#idle = this.#clock.after(IDLE_MS, () => void this.stop());
  }

  #next(): Waiting | undefined {
    for (const [workspaceId, line] of this.#waiting) {
      const next = line.shift();
      this.#waiting.delete(workspaceId);
      if (line.length > 0) this.#waiting.set(workspaceId, line);
      return next;
    }
    return undefined;
  }

  async #readOne(asked: Asked): Promise<Submitted> {
    this.#worker ??= newWorker(this.#memoryMb);
    let told: Told;
    try {
      told = await answerOf(this.#worker, asked, this.#clock);
    } catch (error) {
      await this.stop();
      throw error;
    }
    if ('submitted' in told) return told.submitted;
    throw new RefusedError(told.code, told.detail, { errors: told.errors });
  }
}

function newWorker(memoryMb: number): Worker {
  const worker = new Worker(new URL('./mail-parser-worker.ts', import.meta.url), {
    resourceLimits: {
      maxOldGenerationSizeMb: memoryMb,
      maxYoungGenerationSizeMb: YOUNG_MEMORY_MB,
    },
  });
  worker.unref();
  // What it says while nobody listens must not end the process.
  worker.on('error', () => {});
  return worker;
}

/** Only a thread that ran out of memory says something about the mail; all else may go well later. */
function answerOf(worker: Worker, asked: Asked, clock: Clock): Promise<Told> {
  return new Promise((resolve, reject) => {
    const late = (): void => failed(busy('The message could not be read in time.'));
    const exited = (): void => failed(busy('Reading the message was interrupted.'));
    const timer = clock.after(READING_MS_MAX, late);
    worker.on('message', answered).on('error', failed).on('exit', exited);
    worker.postMessage(asked);
    function over(): void {
      timer.cancel();
      worker.off('message', answered).off('error', failed).off('exit', exited);
    }
    function answered(told: Told): void {
      over();
      resolve(told);
    }
    function failed(error: Error): void {
      over();
      const tooMuch = (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY';
      reject(tooMuch ? unreadable('The message is too entangled to be read.') : error);
    }
  });
}

function busy(detail: string): RefusedError {
  return new RefusedError('overloaded', `${detail} Nothing was accepted.`);
}
