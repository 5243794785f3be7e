import { hash, randomBytes } from 'node:crypto';

/** Secrets that we hand out and keep only as SHA-256: sessions, links, challenges. 256 random bits. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

export function hashSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}
