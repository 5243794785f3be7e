import { createHmac, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createHmacSha256 } from './hmac.ts';

/** Goal: what was signed years ago, or elsewhere, is verified: it is HMAC-SHA-256 to the letter. */

test.each([1, 32, 63, 64])('is the HMAC of the library, with a key of %i bytes', (bytes) => {
  const key = randomBytes(bytes);
  const hmac = createHmacSha256(key);
  for (const length of [0, 1, 55, 56, 64, 65, 4096]) {
    const data = randomBytes(length);
    expect(hmac(data)).toEqual(createHmac('sha256', key).update(data).digest());
  }
});
