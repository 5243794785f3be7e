import {
  createPrivateKey,
  generateKeyPair,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { promisify } from 'node:util';
import { assert } from '../../lib/assert.ts';
import { createHmacSha256, type Hmac } from '../../lib/crypto/hmac.ts';
import { generateRsaKey } from '../../lib/crypto/rsa-key.ts';
import { formatSecret, newSecret } from '../requests/sign-webhook.ts';
import { selfSignedCertificate } from './self-signed-certificate.ts';
import type { KeyKind, SigningKey } from './webhook-format.ts';

/** The keys that requests of an endpoint are signed with. */
export interface NewSigningKey {
  /** What is stored, encrypted. */
  secret: Buffer;
  /** The shared secret as its owner sees it, once. */
  shown: string;
  /** What receivers verify the signatures of a key pair with. */
  publicKey: string | null;
}

const TEXT_SECRET_BYTES = 16;

const generate = promisify(generateKeyPair);

export async function newSigningKey(kind: KeyKind): Promise<NewSigningKey> {
  switch (kind) {
    case 'secret': {
      const secret = newSecret();
      return { secret, shown: formatSecret(secret), publicKey: null };
    }
    case 'text': {
      const shown = randomBytes(TEXT_SECRET_BYTES).toString('hex');
      return { secret: Buffer.from(shown), shown, publicKey: null };
    }
    case 'ec': {
      const pair = await generate('ec', { namedCurve: 'P-256' });
      const publicKey = pair.publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
      return { ...exported(pair.privateKey), publicKey };
    }
    case 'rsa': {
      const privateKey = await generateRsaKey();
      const publicKey = selfSignedCertificate(privateKey, 'Postrider webhooks');
      return { ...exported(privateKey), publicKey };
    }
  }
}

export function loadSigningKey(kind: KeyKind, id: string, secret: Buffer): SigningKey {
  if (kind === 'secret' || kind === 'text') return { id, hmac: createHmacSha256(secret) };
  return {
    id,
    hmac: createHmacSha256(sharedSecretOf(secret)),
    privateKey: createPrivateKey({ key: secret, format: 'der', type: 'pkcs8' }),
  };
}

export function hmacsOf(keys: readonly SigningKey[]): Hmac[] {
  return keys.map(({ hmac }) => hmac);
}

/**
 * For formats with room for one signature that do not name the key: during the grace period of a
 * rotation the previous key signs, and the new one takes over at its end, so that receivers have
 * time to learn the new key.
 */
export function establishedKey(keys: readonly SigningKey[]): SigningKey {
  const key = keys.at(-1);
  assert(key, 'an endpoint always has a valid key');
  return key;
}

export function privateKeyOf({ privateKey }: SigningKey): KeyObject {
  assert(privateKey, 'the format signs with a key pair');
  return privateKey;
}

function exported(key: KeyObject): { secret: Buffer; shown: string } {
  const secret = key.export({ type: 'pkcs8', format: 'der' });
  return { secret, shown: formatSecret(sharedSecretOf(secret)) };
}

/** The secret for the headers of Standard Webhooks is derived from the private key. */
function sharedSecretOf(privateKey: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', privateKey, '', 'postrider webhook secret', 32));
}
