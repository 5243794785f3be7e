import { hkdfSync } from 'node:crypto';
import type { Mode } from '../accounts/tenant-scope.ts';
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
    return HASH_PREFIX + mac.toString('base64url');
  };
}

/** An address always has an @, and a domain's key begins with one: no key of theirs looks like it. */
const HASH_PREFIX = '#';

export function isAddressHash(key: string): boolean {
  return key.startsWith(HASH_PREFIX) && !key.includes('@');
}

/**
 * Takes an address out of text and JSON. It is found in any case, in both spellings of its domain,
 * also as html and links have it (templates/substitution/escape.ts), and only as a whole: erasing ann@example.com leaves joann@example.com and ann@example.com.au alone.
 */

/** Stands where the address stood. RFC 2606: nobody can ever have it. */
export const ERASED_ADDRESS = 'erased@erased.invalid';
