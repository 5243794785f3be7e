import { textPartOf } from '../../mail/html/html-to-text.ts';
import { compose } from '../../mail/mime/compose.ts';
import type { PreparedMessage } from '../accept/prepare-message.ts';
import { type MessageContent, toOutgoing } from './message-content.ts';

/** A message as its recipient sees it. The same for a dry run and for a stored message. */
export interface ContentView {
  subject: string;
  html: string;
  text: string;
  headers: { name: string; value: string }[];
  attachments: {
    filename: string;
    content_type: string;
    content_id: string | null;
    size_bytes: number;
  }[];
  size_bytes: number;
}

export function contentView(id: string, createdAtMs: number, content: MessageContent): ContentView {
  const raw = compose(toOutgoing(id, createdAtMs, content));
  return {
    subject: content.subject,
    html: content.html,
    text: textPartOf(content),
    headers: parseHeaderLines(raw),
    attachments: content.attachments.map((file) => ({
      filename: file.filename,
      content_type: file.contentType,
      content_id: file.contentId ?? null,
      size_bytes: file.content.length,
    })),
    size_bytes: raw.length,
  };
}

export function previewMessage(message: PreparedMessage): ContentView {
  return contentView(message.id, message.createdAtMs, message.content);
}

/** The header lines of a composed message, unfolded. */
function parseHeaderLines(raw: Buffer): { name: string; value: string }[] {
  const head = raw.subarray(0, raw.indexOf('\r\n\r\n')).toString();
  return head
    .replaceAll(/\r\n[ \t]+/g, ' ')
    .split('\r\n')
    .map((line) => {
      const colon = line.indexOf(':');
      return { name: line.slice(0, colon), value: line.slice(colon + 1).trim() };
    });
}
