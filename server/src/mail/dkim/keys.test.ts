// Goal: generated keys are valid and their TXT records are what receivers expect. Method: use each
// pair, inspect the RSA key, and parse the records as the RFCs define them.
import { createPublicKey, sign, verify } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { generateDkimKeys, loadPrivateKey } from './keys.ts';

const keys = await generateDkimKeys();

function publishedKey(txtValue: string): Buffer {
  return Buffer.from(/; p=([A-Za-z0-9+/]+=*)$/.exec(txtValue)?.[1] ?? '', 'base64');
}

describe('generated DKIM keys', () => {
  it('publish a 2048-bit RSA key that verifies signatures of the private key', () => {
    expect(keys.rsa.txtValue).toMatch(/^v=DKIM1; k=rsa; p=MIIBI/);
    const key = publishedKey(keys.rsa.txtValue);
    const publicKey = createPublicKey({ key, format: 'der', type: 'spki' });
    expect(publicKey.asymmetricKeyDetails).toEqual({ modulusLength: 2048, publicExponent: 65537n });
    const data = Buffer.from('message');
    const signature = sign('sha256', data, loadPrivateKey(keys.rsa.privateKeyPem));
    expect(verify('sha256', data, publicKey, signature)).toBe(true);
    expect(verify('sha256', Buffer.from('massage'), publicKey, signature)).toBe(false);
  });

  it('publish an Ed25519 key as its raw 32 octets', () => {
    expect(keys.ed25519.txtValue).toMatch(/^v=DKIM1; k=ed25519; p=/);
    const octets = publishedKey(keys.ed25519.txtValue);
    expect(octets).toHaveLength(32);
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: octets.toString('base64url') };
    const publicKey = createPublicKey({ key: jwk, format: 'jwk' });
    const data = Buffer.from('message');
    const signature = sign(null, data, loadPrivateKey(keys.ed25519.privateKeyPem));
    expect(verify(null, data, publicKey, signature)).toBe(true);
  });

  it('are PKCS #8 PEM and unique', async () => {
    const others = await generateDkimKeys();
    for (const algorithm of ['rsa', 'ed25519'] as const) {
      expect(keys[algorithm].privateKeyPem).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
      expect(others[algorithm].txtValue).not.toBe(keys[algorithm].txtValue);
    }
  });
});
