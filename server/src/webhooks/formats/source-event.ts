import { decodeId, uuidTime } from '../../lib/ids.ts';
import type { SourceEvent } from './webhook-format.ts';

/** What several formats read from an event. */

export function timeOf({ createdAtMs }: SourceEvent): string {
  return new Date(createdAtMs).toISOString();
}

export function unixSeconds({ createdAtMs }: SourceEvent): number {
  return Math.floor(createdAtMs / 1000);
}

/** When the message was accepted, which its id contains. */
export function createdAtOf({ data, createdAtMs }: SourceEvent): string {
  const id = decodeId('msg', data.message_id);
  return new Date(id === undefined ? createdAtMs : uuidTime(id)).toISOString();
}

/** The visible recipients: one for events of a delivery, all of them for events of the message. */
export function toOf({ data }: SourceEvent): string[] {
  if (data.recipient !== undefined) return [data.recipient];
  return data.recipients?.flatMap(({ email, kind }) => (kind === 'to' ? email : [])) ?? [];
}

/**
 * Whether a suppression is an unsubscribe that no `message.unsubscribed` reports: one that was made by
 * API. Other providers report only what recipients do themselves.
 */
export function isOtherUnsubscribe({ data: { suppression } }: SourceEvent): boolean {
  return suppression?.reason === 'unsubscribe' && !suppression.evidence?.message_id;
}

/** The receiver's reply in one line, with its code. */
export function replyOf({ data: { smtp, bounce } }: SourceEvent): string {
  if (!smtp) return bounce?.explanation ?? '';
  const isPrefixed = smtp.enhanced !== null && smtp.text.startsWith(smtp.enhanced);
  return [smtp.code, isPrefixed ? null : smtp.enhanced, smtp.text]
    .filter((part) => part !== null)
    .join(' ');
}
