import { hkdfSync } from 'node:crypto';
import type { Mode } from '../accounts/mode.ts';
import { createHmacSha256 } from '../lib/hmac.ts';

/**
 * The key under which an erased address stays suppressed. Keyed with SECRET_KEY, because addresses
 * are few enough to be guessed one by one; bound to workspace and mode, so that equal addresses of
 * two tenants do not look alike.
 */
export type AddressHash = (workspaceId: string, mode: Mode, emailKey: string) => string;

export function createAddressHash(secretKey: Buffer): AddressHash {
  const key = Buffer.from(hkdfSync('sha256', secretKey, 'postrider', 'hash:suppressions', 32));
  const hmac = createHmacSha256(key);
  return (workspaceId, mode, emailKey) => {
    const mac = hmac(Buffer.from(`${workspaceId}/${mode}/${emailKey}`));
    return HASH_MARK + mac.toString('base64url');
  };
}

/** An address always has an @, and a domain's key begins with one: no key of theirs looks like it. */
const HASH_MARK = '#';

export function isAddressHash(key: string): boolean {
  return key.startsWith(HASH_MARK) && !key.includes('@');
}
