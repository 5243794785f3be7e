import { hash, randomBytes } from 'node:crypto';

/** Secrets of 256 random bits for sessions, links and challenges. Only their SHA-256 is stored. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

export function hashSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}
