import { randomBytes } from 'node:crypto';
import type { Hmac } from '../../lib/crypto/hmac.ts';

/**
 * Standard Webhooks (standardwebhooks.com): an HMAC-SHA256 over id, timestamp and body, under a
 * shared secret. During a rotation there are two signatures, newest first, and a receiver accepts
 * if either matches.
 */

const SECRET_PREFIX = 'whsec_';
/** The standard requires 24 to 64 bytes. */
const SECRET_BYTES = 32;

export function newSecret(): Buffer {
  return randomBytes(SECRET_BYTES);
}

/** The secret as shown to the owner, once. */
export function formatSecret(secret: Buffer): string {
  return SECRET_PREFIX + secret.toString('base64');
}

export interface SignedHeaders {
  'webhook-id': string;
  'webhook-timestamp': string;
  'webhook-signature': string;
}

export function signedHeaders(
  id: string,
  nowMs: number,
  body: Buffer,
  secrets: readonly Hmac[],
): SignedHeaders {
  const timestamp = String(Math.floor(nowMs / 1000));
  const signed = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
  const signatures = secrets.map((hmac) => `v1,${hmac(signed).toString('base64')}`);
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}
