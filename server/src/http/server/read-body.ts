import type { IncomingMessage } from 'node:http';
import { RefusedError } from '../../lib/refused-error.ts';

/** Times the largest body: what is larger still is not worth its way here. */
const DRAIN_LIMIT_FACTOR = 2;
const NO_BODY = Buffer.alloc(0);

/**
 * The bytes of a body, at most so many. Ours, because Fastify's copies every body once more, and nearly
 * all come in one piece. One that is somewhat too large is let flow away before it is refused: many
 * clients read no answer while they are still writing, and would only see a broken connection.
 */
export function readBody(
  payload: IncomingMessage,
  bytesMax: number,
  done: (error: Error | null, body: Buffer) => void,
): void {
  const drainBytesMax = bytesMax * DRAIN_LIMIT_FACTOR;
  if (Number(payload.headers['content-length']) > drainBytesMax) {
    done(tooLarge(), NO_BODY);
    return;
  }
  let chunks: Buffer[] = [];
  let bytes = 0;
  const onData = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes <= bytesMax) chunks.push(chunk);
    else if (bytes > drainBytesMax) end(tooLarge());
    else chunks = [];
  };
  const onEnd = (): void => end(bytes > bytesMax ? tooLarge() : null);
  const end = (error: Error | null): void => {
    payload.removeListener('data', onData);
    payload.removeListener('end', onEnd);
    payload.removeListener('error', end);
    if (error) done(error, NO_BODY);
    else done(null, chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks));
  };
  payload.on('data', onData);
  payload.on('end', onEnd);
  payload.on('error', end);
  payload.resume();
}

function tooLarge(): RefusedError {
  return new RefusedError('body_too_large', 'The body is larger than the server takes.');
}
