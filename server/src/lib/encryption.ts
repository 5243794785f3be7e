import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/**
 * Seals secrets for storage: AES-256-GCM under a key derived from SECRET_KEY for one purpose, so
 * that a value sealed for one place cannot be opened in another. Layout: version, nonce, tag, text.
 */
export interface Encryptor {
  encrypt(plain: Buffer): Buffer;
  /** Throws when the value was sealed under another key or changed since. */
  decrypt(sealed: Buffer): Buffer;
}

const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export function createEncryptor(secretKey: Buffer, purpose: string): Encryptor {
  const key = Buffer.from(hkdfSync('sha256', secretKey, 'postrider', `seal:${purpose}`, 32));
  return {
    encrypt(plain) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce);
      const text = Buffer.concat([cipher.update(plain), cipher.final()]);
      return Buffer.concat([Buffer.from([VERSION]), nonce, cipher.getAuthTag(), text]);
    },
    decrypt(sealed) {
      if (sealed[0] !== VERSION) throw new Error('Sealed by a version that is not known');
      const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
      const tag = sealed.subarray(1 + NONCE_BYTES, 1 + NONCE_BYTES + TAG_BYTES);
      const decipher = createDecipheriv('aes-256-gcm', key, nonce);
      decipher.setAuthTag(tag);
      return Buffer.concat([
        decipher.update(sealed.subarray(1 + NONCE_BYTES + TAG_BYTES)),
        decipher.final(),
      ]);
    },
  };
}
