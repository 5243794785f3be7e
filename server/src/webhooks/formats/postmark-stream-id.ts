import { DEFAULT_STREAM_KEY } from '../../streams/stream.ts';

/**
 * Postmark's ids of streams, in its webhooks and in its API: the keys of ours, except that the stream
 * which every server has is named `outbound`.
 */
const OUTBOUND = 'outbound';

/** A suppression without a stream applies to all of them; it is shown in the one that always exists. */
export function toStreamId(key: string | null): string {
  return key === null || key === DEFAULT_STREAM_KEY ? OUTBOUND : key;
}

export function toStreamKey(id: string): string {
  return id === OUTBOUND ? DEFAULT_STREAM_KEY : id;
}
