import { parentPort } from 'node:worker_threads';
import { RefusedError, refusalOf } from '../refused-error.ts';
import type { TaskResponse } from './task-thread.ts';

/** The worker's side of a TaskThread: one request in, one response out. Unexpected errors end it. */
export function serveTasks<Q, R>(run: (request: Q) => R | Promise<R>): void {
  const respond = async (request: Q): Promise<void> => {
    let response: TaskResponse<R>;
    try {
      response = { result: await run(request) };
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      response = { refusal: refusalOf(error) };
    }
    parentPort?.postMessage(response);
  };
  parentPort?.on('message', (request: Q) => void respond(request));
}

/** Structured cloning turns a Buffer into a Uint8Array. */
export function toBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);
}
