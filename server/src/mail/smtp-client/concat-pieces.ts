/** Commands as text, messages as bytes. */
export type Piece = string | Buffer;

/**
 * One buffer means one system call and few packets; copying 2 KB is cheaper than a second write.
 */
export function concatPieces(pieces: readonly Piece[]): Buffer {
  let bytes = 0;
  for (const piece of pieces) bytes += Buffer.byteLength(piece);
  const all = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const piece of pieces) {
    at += typeof piece === 'string' ? all.write(piece, at) : piece.copy(all, at);
  }
  return all;
}
