import type { IncomingMessage } from 'node:http';
import { RefusedError } from '../../lib/refused-error.ts';

/** Times the largest body: what is larger still is not worth its way here. */
const DRAINED_FACTOR = 2;
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
  const drainedMax = bytesMax * DRAINED_FACTOR;
  if (Number(payload.headers['content-length']) > drainedMax) {
    done(tooLarge(), NO_BODY);
    return;
  }
  let pieces: Buffer[] = [];
  let bytes = 0;
  const onData = (piece: Buffer): void => {
    bytes += piece.length;
    if (bytes <= bytesMax) pieces.push(piece);
    else if (bytes > drainedMax) end(tooLarge());
    else pieces = [];
  };
  const onEnd = (): void => end(bytes > bytesMax ? tooLarge() : null);
  const end = (error: Error | null): void => {
    payload.removeListener('data', onData);
    payload.removeListener('end', onEnd);
    payload.removeListener('error', end);
    if (error) done(error, NO_BODY);
    else done(null, pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces));
  };
  payload.on('data', onData);
  payload.on('end', onEnd);
  payload.on('error', end);
  payload.resume();
}

function tooLarge(): RefusedError {
  return new RefusedError('body_too_large', 'The body is larger than the server takes.');
}
