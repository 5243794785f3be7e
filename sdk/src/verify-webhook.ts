import { copyBytes } from './copy-bytes.ts';
import { WebhookVerificationError } from './errors.ts';
import type { PostriderEvent } from './operations.ts';

/**
 * Verifies Standard Webhooks signatures. Takes the raw body, the headers and the endpoint's secret;
 * returns the event, or throws a WebhookVerificationError: do not trust the body then. It does not
 * detect replays within the tolerance: ignore events whose `id` you have already processed.
 */

/** Headers of a `Request`, of `node:http`, or of a cloud function's event. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyOptions {
  /** Allowed clock skew plus transit time; five minutes by default. */
  toleranceSeconds?: number;
  nowMs?: number;
}

const TOLERANCE_SECONDS = 300;
const ALGORITHM = { name: 'HMAC', hash: 'SHA-256' };

/** Pass several secrets while a secret is being rotated. */
export async function verifyWebhook(
  body: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  { toleranceSeconds = TOLERANCE_SECONDS, nowMs = Date.now() }: VerifyOptions = {},
): Promise<PostriderEvent> {
  const bytes = rawBytesOf(body);
  const keys = await Promise.all([secrets].flat().map(keyOf));
  if (keys.length === 0) throw new TypeError('verifyWebhook needs the secret of the endpoint');
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  if (!/^\d{1,12}$/.test(timestamp)) {
    throw new WebhookVerificationError('webhook-timestamp is not a Unix timestamp in seconds');
  }
  if (Math.abs(nowMs / 1000 - Number(timestamp)) > toleranceSeconds) {
    throw new WebhookVerificationError('webhook-timestamp is too old or too new');
  }
  const signed = joined(new TextEncoder().encode(`${id}.${timestamp}.`), bytes);
  for (const signature of signaturesOf(headerOf(headers, 'webhook-signature'))) {
    for (const key of keys) {
      // subtle.verify compares in constant time.
      if (await crypto.subtle.verify(ALGORITHM, key, signature, signed)) return eventOf(bytes);
    }
  }
  throw new WebhookVerificationError('No signature in webhook-signature matches the secret');
}

function rawBytesOf(body: string | Uint8Array | ArrayBuffer): Uint8Array {
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : copyBytes(body);
  if (bytes !== undefined) return bytes;
  throw new TypeError('verifyWebhook needs the raw body, because the signature covers its bytes');
}

function keyOf(secret: string) {
  const bytes = fromBase64(secret.trim().replace(/^whsec_/, ''));
  if (bytes === null || bytes.length === 0) {
    throw new TypeError('A webhook secret is whsec_ followed by Base64');
  }
  return crypto.subtle.importKey('raw', bytes, ALGORITHM, false, ['verify']);
}

function headerOf(headers: WebhookHeaders, name: string): string {
  const given =
    typeof headers.get === 'function'
      ? headers.get(name)
      : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  const value = Array.isArray(given) && given.length === 1 ? given[0] : given;
  if (typeof value === 'string' && value !== '') return value;
  throw new WebhookVerificationError(`${name} is missing`);
}

function signaturesOf(header: string): Uint8Array<ArrayBuffer>[] {
  return header
    .split(' ')
    .filter((one) => one.startsWith('v1,'))
    .map((one) => fromBase64(one.slice('v1,'.length)))
    .filter((one) => one !== null);
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(first.length + second.length);
  whole.set(first);
  whole.set(second, first.length);
  return whole;
}

function eventOf(bytes: Uint8Array): PostriderEvent {
  return JSON.parse(new TextDecoder().decode(bytes)) as PostriderEvent;
}
