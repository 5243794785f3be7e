import type { EventType } from '../../events/event-types.ts';
import { decodeId } from '../../lib/ids.ts';
import { postmarkRecord } from '../../webhooks/formats/postmark.ts';
import type { SourceData } from '../../webhooks/formats/webhook-format.ts';

/** Events of our own API as records of Postmark, the same as in its webhooks. */

export interface ApiEvent {
  id: string;
  type: EventType;
  mode: 'live' | 'test';
  created_at: string;
  data: SourceData;
}

export interface PostmarkRecord {
  RecordType: string;
  MessageID: string;
  [field: string]: unknown;
}

export function toPostmarkRecord({
  id,
  type,
  mode,
  created_at: createdAt,
  data,
}: ApiEvent): PostmarkRecord {
  return postmarkRecord({
    id: decodeId('evt', id) as string,
    type,
    mode,
    createdAtMs: Date.parse(createdAt),
    data,
    message: undefined,
  }) as PostmarkRecord;
}
