import { hash } from 'node:crypto';

const BLOCK_BYTES = 64;

/** HMAC-SHA-256 under one key. */
export type Hmac = (data: Buffer) => Buffer;

/**
 * HMAC (RFC 2104) out of two one-shot hashes: every recipient of every send needs some, and an Hmac
 * object of the library costs ten times as much as the hashing. For keys of at most 64 bytes.
 */
export function createHmacSha256(key: Buffer): Hmac {
  if (key.length > BLOCK_BYTES) throw new Error('Broken invariant: an HMAC key fits into a block');
  const padded = (pad: number): Buffer => {
    const block = Buffer.alloc(BLOCK_BYTES, pad);
    for (const [at, byte] of key.entries()) block[at] = byte ^ pad;
    return block;
  };
  const inner = padded(0x36);
  const outer = Buffer.concat([padded(0x5c), Buffer.alloc(32)]);
  // The library takes four times as long to give a digest as a Buffer as to give it as text.
  return (data) => {
    outer.write(hash('sha256', Buffer.concat([inner, data]), 'binary'), BLOCK_BYTES, 'latin1');
    return Buffer.from(hash('sha256', outer, 'binary'), 'latin1');
  };
}
