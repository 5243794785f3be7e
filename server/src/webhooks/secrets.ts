import { randomBytes } from 'node:crypto';
import type { Hmac } from '../lib/hmac.ts';

/**
 * Standard Webhooks (standardwebhooks.com): an HMAC-SHA256 over id, time and body, under a secret
 * that only the two sides know. While a secret rotates there are two signatures, newest first, and a
 * receiver accepts when any of them fits.
 */

const PREFIX = 'whsec_';
/** The standard asks for 24 to 64. */
const SECRET_BYTES = 32;

export function newSecret(): Buffer {
  return randomBytes(SECRET_BYTES);
}

/** As the owner sees it, once. */
export function secretText(secret: Buffer): string {
  return PREFIX + secret.toString('base64');
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
