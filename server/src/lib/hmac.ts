import { hash } from 'node:crypto';

const BLOCK_BYTES = 64;

/** HMAC-SHA-256 under one key. */
export type Hmac = (data: Buffer) => Buffer;

/**
 * HMAC (RFC 2104) from two one-shot hashes. Every recipient of every message needs several, and
 * creating a crypto.Hmac costs ten times as much as the hashing. Keys have at most 64 bytes.
 */
export function createHmacSha256(key: Buffer): Hmac {
  if (key.length > BLOCK_BYTES) throw new Error('Broken invariant: HMAC key longer than a block');
  const padded = (pad: number): Buffer => {
    const block = Buffer.alloc(BLOCK_BYTES, pad);
    for (const [at, byte] of key.entries()) block[at] = byte ^ pad;
    return block;
  };
  const inner = padded(0x36);
  const outer = Buffer.concat([padded(0x5c), Buffer.alloc(32)]);
  // Returning the digest as a Buffer takes four times as long as a binary string.
  return (data) => {
    outer.write(hash('sha256', Buffer.concat([inner, data]), 'binary'), BLOCK_BYTES, 'latin1');
    return Buffer.from(hash('sha256', outer, 'binary'), 'latin1');
  };
}
