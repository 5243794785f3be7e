import {
  createPrivateKey,
  createPublicKey,
  generateKeyPair as generateKeyPairCallback,
  type KeyObject,
} from 'node:crypto';
import { promisify } from 'node:util';
import { generateRsaKey } from '../../lib/crypto/rsa-key.ts';

/**
 * Generates DKIM key pairs: the private key as PEM, and the public key as the value of the TXT
 * record that the domain's owner publishes (RFC 6376 section 3.6.1, RFC 8463 section 4).
 */

export interface GeneratedDkimKey {
  algorithm: 'rsa' | 'ed25519';
  /** PKCS #8 PEM. Secret. */
  privateKeyPem: string;
  /** `v=DKIM1; k=…; p=…` in one piece; DNS servers split it into strings of 255 characters. */
  txtValue: string;
}

export interface GeneratedDkimKeys {
  rsa: GeneratedDkimKey;
  ed25519: GeneratedDkimKey;
}

export type GenerateDkimKeys = () => Promise<GeneratedDkimKeys>;

const generateKeyPair = promisify(generateKeyPairCallback);

export async function generateDkimKeys(): Promise<GeneratedDkimKeys> {
  const [rsa, ed25519] = await Promise.all([generateRsaKey(), generateKeyPair('ed25519')]);
  return { rsa: generated('rsa', rsa), ed25519: generated('ed25519', ed25519.privateKey) };
}

/** Loads a private key that generateDkimKeys created. */
export function loadPrivateKey(pem: string): KeyObject {
  return createPrivateKey(pem);
}

function generated(algorithm: 'rsa' | 'ed25519', privateKey: KeyObject): GeneratedDkimKey {
  const der = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  // RFC 8463 section 4.2: an Ed25519 record holds the raw 32 octets of the key, without ASN.1.
  const publicKey = algorithm === 'rsa' ? der : der.subarray(-32);
  return {
    algorithm,
    privateKeyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    txtValue: `v=DKIM1; k=${algorithm}; p=${publicKey.toString('base64')}`,
  };
}
