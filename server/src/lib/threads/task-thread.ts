import { Worker } from 'node:worker_threads';
import { type Refusal, RefusedError } from '../refused-error.ts';
import { Fifo } from '../scheduling/fifo.ts';
import type { Clock, Timer } from '../time/clock.ts';

/**
 * A worker thread that runs one task at a time within limits of memory and time, so that hostile input
 * can at worst end that thread and never holds the event loop. Tasks are queued by key (the workspace)
 * and the keys are served round-robin: a workspace with a long queue delays only its own tasks. The
 * thread starts with its first task and ends after a minute without one.
 */

export interface TaskThreadOptions {
  clock: Clock;
  /** A module that calls `serveTasks`. */
  entry: URL;
  memoryMb: number;
  /** What the task was, for error messages. */
  label: string;
  /** Running out of memory is caused by the input itself, so it is permanent. */
  tooComplex(): RefusedError;
}

export type TaskResponse<R> = { result: R } | { refusal: Refusal };

interface QueuedTask<Q, R> {
  request: Q;
  signal: AbortSignal | undefined;
  resolve(result: R): void;
  reject(error: unknown): void;
}

const TASK_MS_MAX = 30_000;
const IDLE_MS = 60_000;
const YOUNG_MEMORY_MB = 64;

export class TaskThread<Q, R> {
  readonly #options: TaskThreadOptions;
  /** In the order of service: a key that was served moves to the end. */
  readonly #queues = new Map<string, Fifo<QueuedTask<Q, R>>>();
  #worker: Worker | undefined;
  #idle: Timer | undefined;
  #busy = false;

  constructor(options: TaskThreadOptions) {
    this.#options = options;
  }

  /** After an abort, no one waits for the result: the task is not started, or ends with the thread. */
  run(queueKey: string, request: Q, signal?: AbortSignal): Promise<R> {
    return new Promise((resolve, reject) => {
      const queue = this.#queues.get(queueKey) ?? new Fifo<QueuedTask<Q, R>>();
      queue.push({ request, signal, resolve, reject });
      this.#queues.set(queueKey, queue);
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
      await this.#runOne(next).then(next.resolve, next.reject);
    }
    this.#busy = false;
    this.#idle = this.#options.clock.after(IDLE_MS, () => void this.stop());
  }

  #next(): QueuedTask<Q, R> | undefined {
    for (const [key, queue] of this.#queues) {
      const next = queue.shift();
      this.#queues.delete(key);
      if (queue.size > 0) this.#queues.set(key, queue);
      return next;
    }
    return undefined;
  }

  async #runOne({ request, signal }: QueuedTask<Q, R>): Promise<R> {
    if (signal?.aborted) throw abandoned(this.#options);
    this.#worker ??= startWorker(this.#options);
    let response: TaskResponse<R>;
    try {
      response = await requestTask<R>(this.#worker, request, signal, this.#options);
    } catch (error) {
      await this.stop();
      throw error;
    }
    if ('result' in response) return response.result;
    const { code, detail, ...more } = response.refusal;
    throw new RefusedError(code, detail, more);
  }
}

function startWorker({ entry, memoryMb }: TaskThreadOptions): Worker {
  const worker = new Worker(entry, {
    resourceLimits: {
      maxOldGenerationSizeMb: memoryMb,
      maxYoungGenerationSizeMb: YOUNG_MEMORY_MB,
    },
  });
  worker.unref();
  // An error while no task is pending must not end the process.
  worker.on('error', () => {});
  return worker;
}

function requestTask<R>(
  worker: Worker,
  request: unknown,
  signal: AbortSignal | undefined,
  options: TaskThreadOptions,
): Promise<TaskResponse<R>> {
  return new Promise((resolve, reject) => {
    const { clock, label, tooComplex } = options;
    const onTimeout = (): void => onError(overloaded(`${label} took too long.`));
    const onExit = (): void => onError(overloaded(`${label} was interrupted.`));
    const onAbort = (): void => onError(abandoned(options));
    const timer = clock.after(TASK_MS_MAX, onTimeout);
    worker.on('message', onMessage).on('error', onError).on('exit', onExit);
    signal?.addEventListener('abort', onAbort);
    worker.postMessage(request);
    function cleanUp(): void {
      timer.cancel();
      signal?.removeEventListener('abort', onAbort);
      worker.off('message', onMessage).off('error', onError).off('exit', onExit);
    }
    function onMessage(response: TaskResponse<R>): void {
      cleanUp();
      resolve(response);
    }
    function onError(error: Error): void {
      cleanUp();
      const outOfMemory = (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY';
      reject(outOfMemory ? tooComplex() : error);
    }
  });
}

function abandoned({ label }: TaskThreadOptions): RefusedError {
  return overloaded(`${label} was given up.`);
}

function overloaded(detail: string): RefusedError {
  return new RefusedError('overloaded', `${detail} Nothing was accepted.`, {
    retryAfterSeconds: 1,
  });
}
