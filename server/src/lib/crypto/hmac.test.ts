import { createHmac, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createHexHmacSha256, createHmacSha256 } from './hmac.ts';

/** Compares with the HMAC-SHA-256 of node:crypto. */

test.each([1, 32, 63, 64])('equals node:crypto with a key of %i bytes', (bytes) => {
  const key = randomBytes(bytes);
  const hmac = createHmacSha256(key);
  const hexHmac = createHexHmacSha256(key);
  for (const length of [0, 1, 55, 56, 64, 65, 4096]) {
    const data = randomBytes(length);
    expect(hmac(data)).toEqual(createHmac('sha256', key).update(data).digest());
    const text = data.toString('hex');
    expect(hexHmac(text)).toBe(createHmac('sha256', key).update(text).digest('hex'));
  }
});
