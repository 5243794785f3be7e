import type { IncomingMessage } from 'node:http';
import type { MemoryReservation } from '../../lib/memory/memory-budget.ts';
import { RefusedError } from '../../lib/refused-error.ts';

/** A body in memory. */
export interface ReceivedBody {
  chunks: readonly Buffer[];
  bytes: number;
  /**
   * Call it when neither the body nor what was parsed from it is needed. Undefined if no memory was
   * reserved, as for nearly all bodies.
   */
  release: (() => void) | undefined;
}

export interface BodyLimits {
  bytesMax: number;
  /** Reserves memory for a body that does not arrive in one piece. */
  reserve(): MemoryReservation;
  /** Resolves when another chunk of a large body may be read. */
  nextTurn(): Promise<void>;
}

/** A multiple of the maximum size: anything larger is rejected without being read. */
const DRAIN_LIMIT_FACTOR = 2;
/** What a chunk takes besides its bytes: a client may send single bytes. */
const CHUNK_OVERHEAD_BYTES = 256;
/**
 * The rest of a larger body is read in turns. In one iteration of the event loop, Node reads up to
 * 2 MiB from each connection, so a hundred fast uploads would hold it for a second.
 */
const READ_AT_ONCE_BYTES_MAX = 256 * 1024;

/**
 * Reads a body of at most `bytesMax` bytes within the shared memory budget. Replaces Fastify's
 * reader, which copies every body once more although nearly all arrive in one chunk; such a body is
 * complete at once and reserves nothing. A body that is slightly too large, or does not fit the
 * budget, is read and discarded before it is rejected: many clients do not read a response while
 * they are still sending, and would only see a broken connection.
 */
export function readBody(
  payload: IncomingMessage,
  { bytesMax, reserve, nextTurn }: BodyLimits,
  done: (error: Error | null, body?: ReceivedBody) => void,
): void {
  const announcedBytes = Number(payload.headers['content-length']);
  const drainBytesMax = bytesMax * DRAIN_LIMIT_FACTOR;
  if (announcedBytes > drainBytesMax) {
    done(tooLarge());
    return;
  }
  let chunks: Buffer[] = [];
  let bytes = 0;
  let memory: MemoryReservation | undefined;
  let rejection: RefusedError | undefined;
  const onData = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > READ_AT_ONCE_BYTES_MAX) {
      payload.pause();
      void nextTurn().then(() => payload.resume());
    }
    if (bytes > drainBytesMax) {
      end(tooLarge());
      return;
    }
    if (rejection === undefined && bytes > bytesMax) discard(tooLarge());
    if (rejection !== undefined) return;
    if (chunk.length !== announcedBytes) {
      memory ??= reserve();
      if (!memory.tryGrow(chunk.length + CHUNK_OVERHEAD_BYTES)) {
        discard(overloaded());
        return;
      }
    }
    chunks.push(chunk);
  };
  const discard = (why: RefusedError): void => {
    rejection = why;
    chunks = [];
    memory?.release();
  };
  const onEnd = (): void => end(rejection ?? null);
  const end = (error: Error | null): void => {
    payload.removeListener('data', onData);
    payload.removeListener('end', onEnd);
    payload.removeListener('error', end);
    if (error) {
      memory?.release();
      done(error);
    } else {
      done(null, { chunks, bytes, release: memory?.release });
    }
  };
  payload.on('data', onData);
  payload.on('end', onEnd);
  payload.on('error', end);
  payload.resume();
}

function tooLarge(): RefusedError {
  return new RefusedError('body_too_large', 'The body exceeds the maximum size.');
}

function overloaded(): RefusedError {
  const detail = 'Too many large requests are being received right now. Nothing was accepted.';
  return new RefusedError('overloaded', detail, { retryAfterSeconds: 1 });
}
