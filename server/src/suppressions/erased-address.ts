import { hkdfSync } from 'node:crypto';
import type { Mode } from '../accounts/tenant-scope.ts';
import { createHmacSha256 } from '../lib/crypto/hmac.ts';

/**
 * The key under which an erased address stays suppressed. It is keyed with SECRET_KEY, because
 * addresses can be guessed one by one, and bound to workspace and mode, so that the same address of
 * two tenants has different hashes.
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

/**
 * The key of an address contains an @ and that of a domain starts with one, so no other key looks
 * like this.
 */
const HASH_PREFIX = '#';

export function isAddressHash(key: string): boolean {
  return key.startsWith(HASH_PREFIX) && !key.includes('@');
}

/** Replaces an erased address. RFC 2606 reserves the domain, so it can never belong to anyone. */
export const ERASED_ADDRESS = 'erased@erased.invalid';
