import { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '../../lib/clock.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import { malformedMail, type ParsedMail } from './parse-mail.ts';

/**
 * A worker thread that parses one mail at a time within limits of memory and time, so that hostile
 * mail can at worst end that thread. Mail is queued by key (the workspace) and the keys are served
 * round-robin: a workspace with a long queue delays only its own mail.
 */

export interface ParseRequest {
  data: Uint8Array;
}

export type ParseResponse = { mail: ParsedMail } | { code: string; detail: string };

interface QueuedParse {
  request: ParseRequest;
  resolve(mail: ParsedMail): void;
  reject(error: unknown): void;
}

const PARSE_MS_MAX = 30_000;
const IDLE_MS = 60_000;
const YOUNG_MEMORY_MB = 64;

export class MailParserThread {
  readonly #clock: Clock;
  readonly #memoryMb: number;
  /** In the order of service: a key that was served moves to the end. */
  readonly #queues = new Map<string, QueuedParse[]>();
  #worker: Worker | undefined;
  #idle: Timer | undefined;
  #busy = false;

  constructor(clock: Clock, memoryMb: number) {
    this.#clock = clock;
    this.#memoryMb = memoryMb;
  }

  parse(queueKey: string, data: Buffer): Promise<ParsedMail> {
    return new Promise((resolve, reject) => {
      const queue = this.#queues.get(queueKey);
      const entry = { request: { data }, resolve, reject };
      if (queue) queue.push(entry);
      else this.#queues.set(queueKey, [entry]);
      if (!this.#busy) void this.#processQueues();
    });
  }

  async stop(): Promise<void> {
    this.#idle?.cancel();
    await this.#worker?.terminate();
    this.#worker = undefined;
  }

  async #processQueues(): Promise<void> {
    this.#busy = true;
    this.#idle?.cancel();
    for (let next = this.#next(); next; next = this.#next()) {
      await this.#parseOne(next.request).then(next.resolve, next.reject);
    }
    this.#busy = false;
    this.#idle = this.#clock.after(IDLE_MS, () => void this.stop());
  }

  #next(): QueuedParse | undefined {
    for (const [key, queue] of this.#queues) {
      const next = queue.shift();
      this.#queues.delete(key);
      if (queue.length > 0) this.#queues.set(key, queue);
      return next;
    }
    return undefined;
  }

  async #parseOne(request: ParseRequest): Promise<ParsedMail> {
    this.#worker ??= startWorker(this.#memoryMb);
    let response: ParseResponse;
    try {
      response = await requestParse(this.#worker, request, this.#clock);
    } catch (error) {
      await this.stop();
      throw error;
    }
    if ('mail' in response) return response.mail;
    throw new RefusedError(response.code, response.detail);
  }
}

function startWorker(memoryMb: number): Worker {
  const worker = new Worker(new URL('./mail-parser-worker.ts', import.meta.url), {
    resourceLimits: {
      maxOldGenerationSizeMb: memoryMb,
      maxYoungGenerationSizeMb: YOUNG_MEMORY_MB,
    },
  });
  worker.unref();
  // An error while no request is pending must not end the process.
  worker.on('error', () => {});
  return worker;
}

/**
 * Running out of memory is caused by the mail itself and permanent; every other failure may be
 * retried.
 */
function requestParse(worker: Worker, request: ParseRequest, clock: Clock): Promise<ParseResponse> {
  return new Promise((resolve, reject) => {
    const onTimeout = (): void => onError(overloaded('Parsing the message took too long.'));
    const onExit = (): void => onError(overloaded('Parsing the message was interrupted.'));
    const timer = clock.after(PARSE_MS_MAX, onTimeout);
    worker.on('message', onMessage).on('error', onError).on('exit', onExit);
    worker.postMessage(request);
    function cleanUp(): void {
      timer.cancel();
      worker.off('message', onMessage).off('error', onError).off('exit', onExit);
    }
    function onMessage(response: ParseResponse): void {
      cleanUp();
      resolve(response);
    }
    function onError(error: Error): void {
      cleanUp();
      const outOfMemory = (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY';
      reject(outOfMemory ? malformedMail('The message is too complex to parse.') : error);
    }
  });
}

function overloaded(detail: string): RefusedError {
  return new RefusedError('overloaded', `${detail} Nothing was accepted.`);
}
