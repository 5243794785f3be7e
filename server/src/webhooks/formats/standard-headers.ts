import { encodeId } from '../../lib/ids.ts';
import { type SignedHeaders, signedHeaders } from '../requests/sign-webhook.ts';
import { hmacsOf } from './signing-key.ts';
import type { Signing } from './webhook-format.ts';

/**
 * The headers of Standard Webhooks. Formats whose own signature cannot be checked with a shared
 * secret have them too: with them, `secret` verifies a request, and `webhook-id` finds repeats.
 */
export function standardHeaders(
  body: Buffer,
  { eventId, nowMs, keys }: Pick<Signing, 'eventId' | 'nowMs' | 'keys'>,
): SignedHeaders {
  return signedHeaders(encodeId('evt', eventId), nowMs, body, hmacsOf(keys));
}
