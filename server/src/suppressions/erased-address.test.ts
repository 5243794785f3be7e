import { createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createAddressHash, isAddressHash } from './erased-address.ts';

/** Stored hashes must be found again years later, so the format is fixed: plain HMAC-SHA-256. */

test('is the HMAC of workspace, mode and address under its own key', () => {
  const secret = randomBytes(32);
  const key = Buffer.from(hkdfSync('sha256', secret, 'postrider', 'hash:suppressions', 32));
  const addressHash = createAddressHash(secret);
  for (const address of ['jane@example.com', 'ü@example.com', `${'a'.repeat(300)}@example.com`]) {
    const expected = createHmac('sha256', key).update(`w/live/${address}`).digest('base64url');
    expect(addressHash('w', 'live', address)).toBe(`#${expected}`);
    expect(isAddressHash(addressHash('w', 'live', address))).toBe(true);
  }
});
