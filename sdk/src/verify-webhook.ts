import { bytesOf } from './bytes.ts';
import { WebhookVerificationError } from './errors.ts';
import type { PostriderEvent } from './operations.ts';

/**
 * Webhooks as Standard Webhooks signs them. Comes in: a request's raw body, its headers and the
 * endpoint's secret. Leaves: the event, or a WebhookVerificationError, and then nothing of the body
 * is to be believed. Promises nothing about repeats: drop those whose `id` was seen before.
 */

/** Those of a `Request`, of `node:http`, or of an event of a cloud function. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyOptions {
  /** How far the clocks of both sides and the way between them may differ; five minutes. */
  toleranceSeconds?: number;
  nowMs?: number;
}

const TOLERANCE_SECONDS = 300;
const ALGORITHM = { name: 'HMAC', hash: 'SHA-256' };

/** Several secrets are for the time in which one takes the place of another. */
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
    throw new WebhookVerificationError('webhook-timestamp is not a time in seconds');
  }
  if (Math.abs(nowMs / 1000 - Number(timestamp)) > toleranceSeconds) {
    throw new WebhookVerificationError('webhook-timestamp is too old or too new');
  }
  const signed = joined(new TextEncoder().encode(`${id}.${timestamp}.`), bytes);
  for (const signature of signaturesOf(headerOf(headers, 'webhook-signature'))) {
    for (const key of keys) {
      // Compares in constant time.
      if (await crypto.subtle.verify(ALGORITHM, key, signature, signed)) return eventOf(bytes);
    }
  }
  throw new WebhookVerificationError('No signature in webhook-signature is one of this secret');
}

function rawBytesOf(body: string | Uint8Array | ArrayBuffer): Uint8Array {
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : bytesOf(body);
  if (bytes !== undefined) return bytes;
  throw new TypeError('verifyWebhook needs the raw body: the signature is over its bytes');
}

function keyOf(secret: string) {
  const bytes = fromBase64(secret.trim().replace(/^whsec_/, ''));
  if (bytes === null || bytes.length === 0) {
    throw new TypeError('A secret of a webhook is whsec_ and Base64');
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
