import { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '../../base/clock.ts';
import { type FieldError, RefusedError } from '../../base/refused-error.ts';
import { unreadable } from './parse-mail.ts';
import { readMessage, type Submitted } from './read-message.ts';

/**
 * Reads mail without harm to anybody else. Small mail is read at once. What is large, or made of
 * many parts, costs the parser up to seconds and hundreds of megabytes, so a thread of its own reads
 * it, one after the other, within limits of memory and time: hostile mail ends that thread at worst.
 */

export interface Asked {
  data: Uint8Array;
  recipients: readonly string[];
}

export type Told =
  | { submitted: Submitted }
  | { code: string; detail: string; errors: readonly FieldError[] };

const SMALL_BYTES_MAX = 64 * 1024;
const SMALL_PARTS_MAX = 50;
const READING_MS_MAX = 30_000;
const IDLE_MS = 60_000;
const MEMORY = { maxOldGenerationSizeMb: 768, maxYoungGenerationSizeMb: 64 };

export class MailReader {
  readonly #clock: Clock;
  #worker: Worker | undefined;
  #idle: Timer | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  read(data: Buffer, recipients: readonly string[]): Promise<Submitted> {
    if (isSmall(data)) return readMessage(data, recipients);
    this.#waiting += 1;
    const turn = this.#last.then(() => this.#readApart({ data, recipients }));
    this.#last = turn.then(
      () => this.#rest(),
      () => this.#rest(),
    );
    return turn;
  }

  async stop(): Promise<void> {
    this.#idle?.cancel();
    await this.#worker?.terminate();
    this.#worker = undefined;
  }

  async #readApart(asked: Asked): Promise<Submitted> {
    this.#idle?.cancel();
    this.#worker ??= newWorker();
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

  #rest(): void {
    this.#waiting -= 1;
    if (this.#waiting > 0) return;
    this.#idle = this.#clock.after(IDLE_MS, () => void this.stop());
  }
}

function isSmall(data: Buffer): boolean {
  if (data.length > SMALL_BYTES_MAX) return false;
  let parts = 0;
  for (let at = data.indexOf('\n--'); at !== -1; at = data.indexOf('\n--', at + 3)) parts += 1;
  return parts <= SMALL_PARTS_MAX;
}

function newWorker(): Worker {
  const worker = new Worker(new URL('./mail-reader-thread.ts', import.meta.url), {
    resourceLimits: MEMORY,
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
