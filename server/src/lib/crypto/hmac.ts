import { hash } from 'node:crypto';

const BLOCK_BYTES = 64;

/** HMAC-SHA-256 under one key. */
export type Hmac = (data: Buffer) => Buffer;

/**
 * HMAC (RFC 2104) from two one-shot hashes. Every recipient of every message needs several, and
 * creating a crypto.Hmac costs ten times as much as the hashing. Keys have at most 64 bytes.
 */
export function createHmacSha256(key: Buffer): Hmac {
  const inner = padded(key, 0x36);
  const outer = Buffer.concat([padded(key, 0x5c), Buffer.alloc(32)]);
  // Returning the digest as a Buffer takes four times as long as a binary string.
  return (data) => {
    outer.write(hash('sha256', Buffer.concat([inner, data]), 'binary'), BLOCK_BYTES, 'latin1');
    return Buffer.from(hash('sha256', outer, 'binary'), 'latin1');
  };
}

/** The HMAC in hex of ASCII text. Texts of the same length share a buffer. */
export function createHexHmacSha256(key: Buffer): (text: string) => string {
  let inner = padded(key, 0x36);
  const outer = Buffer.concat([padded(key, 0x5c), Buffer.alloc(32)]);
  return (text) => {
    if (inner.length !== BLOCK_BYTES + text.length) {
      inner = Buffer.concat([inner.subarray(0, BLOCK_BYTES), Buffer.alloc(text.length)]);
    }
    inner.write(text, BLOCK_BYTES, 'latin1');
    outer.write(hash('sha256', inner, 'binary'), BLOCK_BYTES, 'latin1');
    return hash('sha256', outer, 'hex');
  };
}

function padded(key: Buffer, pad: number): Buffer {
  if (key.length > BLOCK_BYTES) throw new Error('Broken invariant: HMAC key longer than a block');
  const block = Buffer.alloc(BLOCK_BYTES, pad);
  for (const [at, byte] of key.entries()) block[at] = byte ^ pad;
  return block;
}
