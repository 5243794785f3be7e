// Goal: keys of three primes are sound, fast to use and ordinary to everyone else. Method: read the
// numbers of generated keys from their DER, check the equations of RFC 8017 section 3.2, and use the
// keys. OpenSSL signs without the CRT values if those are wrong, so a valid signature proves nothing
// about them.
import {
  checkPrimeSync,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { generateRsaKey, generateThreePrimeKey } from './rsa-key.ts';

const E = 65537n;
const keys = [await generateThreePrimeKey(), await generateThreePrimeKey()];

/** All INTEGERs of a DER structure in order, also of sequences in it. */
function integersOf(der: Buffer): bigint[] {
  const integers: bigint[] = [];
  let at = 0;
  while (at < der.length) {
    const tag = der[at];
    const first = der[at + 1] as number;
    const lengthOctets = first < 0x80 ? 0 : first & 0x7f;
    const start = at + 2 + lengthOctets;
    const length = lengthOctets === 0 ? first : der.readUIntBE(at + 2, lengthOctets);
    const value = der.subarray(start, start + length);
    if (tag === 0x30) integers.push(...integersOf(value));
    else integers.push(BigInt(`0x${value.toString('hex')}`));
    at = start + length;
  }
  return integers;
}

function numbersOf(key: KeyObject) {
  const integers = integersOf(key.export({ type: 'pkcs1', format: 'der' }));
  expect(integers).toHaveLength(12);
  const [version = 0n, n = 0n, e = 0n, d = 0n, p = 0n, q = 0n, ...more] = integers;
  const [dP = 0n, dQ = 0n, qInv = 0n, r = 0n, dR = 0n, rInv = 0n] = more;
  return { version, n, e, d, p, q, dP, dQ, qInv, r, dR, rInv };
}

describe('an RSA key of three primes', () => {
  it('has three different primes of equal length and a modulus of exactly 2048 bits', () => {
    for (const key of keys) {
      const { version, n, e, p, q, r } = numbersOf(key);
      expect({ version, e }).toEqual({ version: 1n, e: E });
      expect(p * q * r).toBe(n);
      expect(n.toString(2)).toHaveLength(2048);
      expect([p, q, r].map((prime) => prime.toString(2).length)).toEqual([683, 683, 682]);
      expect([p, q, r].map((prime) => checkPrimeSync(prime))).toEqual([true, true, true]);
      expect(new Set([p, q, r]).size).toBe(3);
    }
  });

  it('has the exponents and coefficients that signing calculates with', () => {
    for (const key of keys) {
      const { e, d, p, q, r, dP, dQ, dR, qInv, rInv } = numbersOf(key);
      for (const prime of [p, q, r]) expect((e * d) % (prime - 1n)).toBe(1n);
      expect([dP, dQ, dR]).toEqual([p, q, r].map((prime) => d % (prime - 1n)));
      expect((qInv * q) % p).toBe(1n);
      expect((rInv * p * q) % r).toBe(1n);
      expect(qInv < p && rInv < r).toBe(true);
    }
  });

  it('has an ordinary public key, whose signatures verify with it alone', () => {
    for (const key of keys) {
      const pem = createPublicKey(key).export({ type: 'spki', format: 'pem' });
      const publicKey = createPublicKey(pem);
      expect(publicKey.asymmetricKeyDetails).toEqual({ modulusLength: 2048, publicExponent: E });
      const signature = sign('sha256', Buffer.from('message'), key);
      expect(verify('sha256', Buffer.from('message'), publicKey, signature)).toBe(true);
      expect(verify('sha256', Buffer.from('massage'), publicKey, signature)).toBe(false);
    }
  });

  it('keeps its numbers in PKCS #8, as which it is stored', () => {
    for (const key of keys) {
      const stored = createPrivateKey(key.export({ type: 'pkcs8', format: 'pem' }));
      expect(numbersOf(stored)).toEqual(numbersOf(key));
    }
  });

  it('is unique', () => {
    const primes = keys.map(numbersOf).flatMap(({ p, q, r }) => [p, q, r]);
    expect(new Set(primes).size).toBe(6);
  });
});

it('three primes are used where they are faster', async () => {
  const integers = integersOf((await generateRsaKey()).export({ type: 'pkcs1', format: 'der' }));
  expect(integers).toHaveLength(process.arch === 'arm64' ? 12 : 9);
});
