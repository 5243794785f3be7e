import { DEFAULT_STREAM_KEY } from '../http/routes/streams/schemas.ts';
import type { AnyRequest } from '../http/server/call-operation.ts';

/**
 * The stream of mail that a caller sends through an API without streams. Such an API shows and deletes
 * only what suppresses this mail: an address that left another stream is not suppressed here.
 */
export function defaultStream({ caller }: Pick<AnyRequest, 'caller'>): string {
  return caller.allowedStreams?.[0] ?? DEFAULT_STREAM_KEY;
}
