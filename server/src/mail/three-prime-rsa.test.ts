// Goal: the key we assemble ourselves is a correct RSA key by the arithmetic of RFC 8017.
// Method: read the DER back, number by number, and check every relation between the numbers.
import { checkPrimeSync, createPrivateKey, privateDecrypt, publicEncrypt } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { generateThreePrimeRsa } from './three-prime-rsa.ts';

const der = await generateThreePrimeRsa();

/** All INTEGERs of a DER structure in their order, whatever they are nested in. */
function integersOf(bytes: Buffer): bigint[] {
  const integers: bigint[] = [];
  let at = 0;
  while (at < bytes.length) {
    const tag = bytes[at++];
    let length = bytes[at++]!;
    if (length > 0x80) {
      const octets = length & 0x7f;
      length = bytes.readUIntBE(at, octets);
      at += octets;
    }
    if (tag === 0x30) continue;
    expect(tag).toBe(0x02);
    expect(bytes[at]! < 0x80).toBe(true);
    integers.push(BigInt(`0x${bytes.toString('hex', at, at + length)}`));
    at += length;
  }
  return integers;
}

describe('a three-prime RSA key', () => {
  it('has every number in its right relation to the others', () => {
    const [version, n, e, d, p, q, dp, dq, qInverse, r, dr, pqInverse, ...rest] = integersOf(der);
    expect(rest).toEqual([]);
    if (!n || !e || !d || !p || !q || !dp || !dq || !qInverse || !r || !dr || !pqInverse) {
      throw new Error('a number is missing or zero');
    }
    expect([version, e]).toEqual([1n, 65537n]);
    expect(p * q * r).toBe(n);
    expect(n.toString(2)).toHaveLength(2048);
    expect(new Set([p, q, r]).size).toBe(3);
    expect([p, q, r].every((prime) => checkPrimeSync(prime))).toBe(true);
    expect([p, q, r].map((prime) => prime.toString(2).length)).toEqual([704, 704, 640]);
    for (const prime of [p, q, r]) expect((d * e) % (prime - 1n)).toBe(1n);
    expect([dp, dq, dr]).toEqual([d % (p - 1n), d % (q - 1n), d % (r - 1n)]);
    expect((q * qInverse) % p).toBe(1n);
    expect((p * q * pqInverse) % r).toBe(1n);
  });

  it('is understood by OpenSSL', () => {
    const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs1' });
    const pem = key.export({ type: 'pkcs8', format: 'pem' });
    const secret = Buffer.from('three primes');
    expect(privateDecrypt(createPrivateKey(pem), publicEncrypt(key, secret))).toEqual(secret);
  });
});
