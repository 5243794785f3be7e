import { hash, hkdfSync } from 'node:crypto';
import type { Mode } from '../accounts/mode.ts';

/**
 * The key under which an erased address stays suppressed. Keyed with SECRET_KEY, because addresses
 * are few enough to be guessed one by one; bound to workspace and mode, so that equal addresses of
 * two tenants do not look alike.
 */
export type AddressHash = (workspaceId: string, mode: Mode, emailKey: string) => string;

export function createAddressHash(secretKey: Buffer): AddressHash {
  const key = Buffer.from(hkdfSync('sha256', secretKey, 'postrider', 'hash:suppressions', 32));
  const hmac = createHmacSha256(key);
  return (workspaceId, mode, emailKey) =>
    `${HASH_MARK}${hmac(`${workspaceId}/${mode}/${emailKey}`)}`;
}

const BLOCK_BYTES = 64;

/**
 * HMAC (RFC 2104) out of two one-shot hashes: every recipient of every send needs one, and an Hmac
 * object costs ten times as much as the hashing.
 */
function createHmacSha256(key: Buffer): (text: string) => string {
  const padded = (pad: number): Buffer => {
    const block = Buffer.alloc(BLOCK_BYTES, pad);
    for (const [at, byte] of key.entries()) block[at] = byte ^ pad;
    return block;
  };
  const inner = padded(0x36);
  const outer = Buffer.concat([padded(0x5c), Buffer.alloc(32)]);
  return (text) => {
    hash('sha256', Buffer.concat([inner, Buffer.from(text)]), 'buffer').copy(outer, BLOCK_BYTES);
    return hash('sha256', outer, 'base64url');
  };
}

/** An address always has an @, and a domain's key begins with one: no key of theirs looks like it. */
const HASH_MARK = '#';

export function isAddressHash(key: string): boolean {
  return key.startsWith(HASH_MARK) && !key.includes('@');
}
