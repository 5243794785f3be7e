import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  randomBytes,
} from 'node:crypto';

/**
 * Encrypts secrets for storage with AES-256-GCM. The key is derived from SECRET_KEY per purpose, so
 * that a value encrypted for one purpose cannot be decrypted for another. Layout: version, nonce, tag,
 * ciphertext.
 */
export interface Encryptor {
  encrypt(plain: Buffer): Buffer;
  /** Throws if the value was encrypted with another key or has been modified. */
  decrypt(encrypted: Buffer): Buffer;
}

const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export function createEncryptor(secretKey: Buffer, purpose: string): Encryptor {
  const derived = hkdfSync('sha256', secretKey, 'postrider', `encryption:${purpose}`, 32);
  // A key object, because Node would make one of a buffer each time, which costs more than decrypting.
  const key = createSecretKey(new Uint8Array(derived));
  return {
    encrypt(plain) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce);
      const text = Buffer.concat([cipher.update(plain), cipher.final()]);
      return Buffer.concat([Buffer.from([VERSION]), nonce, cipher.getAuthTag(), text]);
    },
    decrypt(encrypted) {
      if (encrypted[0] !== VERSION) throw new Error('Unknown encryption version');
      const nonce = encrypted.subarray(1, 1 + NONCE_BYTES);
      const tag = encrypted.subarray(1 + NONCE_BYTES, 1 + NONCE_BYTES + TAG_BYTES);
      // Without the option, a value that was cut off is checked by a shorter tag.
      const options = { authTagLength: TAG_BYTES };
      const decipher = createDecipheriv('aes-256-gcm', key, nonce, options);
      decipher.setAuthTag(tag);
      return Buffer.concat([
        decipher.update(encrypted.subarray(1 + NONCE_BYTES + TAG_BYTES)),
        decipher.final(),
      ]);
    },
  };
}
