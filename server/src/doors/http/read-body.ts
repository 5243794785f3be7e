import type { IncomingMessage } from 'node:http';
import { RefusedError } from '../../base/refused-error.ts';

const NO_BODY = Buffer.alloc(0);

/**
 * The bytes of a body, at most so many. Ours, because Fastify's copies every body once more, and nearly
 * all come in one piece.
 */
export function readBody(
  payload: IncomingMessage,
  bytesMax: number,
  done: (error: Error | null, body: Buffer) => void,
): void {
  if (Number(payload.headers['content-length']) > bytesMax) {
    done(tooLarge(), NO_BODY);
    return;
  }
  const pieces: Buffer[] = [];
  let bytes = 0;
  const onData = (piece: Buffer): void => {
    bytes += piece.length;
    if (bytes > bytesMax) end(tooLarge());
    else pieces.push(piece);
  };
  const onEnd = (): void => end(null);
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
