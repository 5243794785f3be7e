import { compose } from '../../mail/mime/compose.ts';
import type { PreparedMessage } from '../accept/prepare-message.ts';
import { runInContentThread, SMALL_CONTENT_CHARS_MAX } from './content-thread.ts';
import {
  type AttachmentSummary,
  type ContentView,
  type MessageContent,
  toOutgoing,
} from './message-content.ts';

/** As `contentView`, without holding the event loop for large content. */
export async function viewContent(
  workspaceId: string,
  id: string,
  createdAtMs: number,
  content: MessageContent,
): Promise<ContentView> {
  if (isSmall(content)) return contentView(id, createdAtMs, content);
  return runInContentThread(workspaceId, 'view', { id, createdAtMs, content });
}

function isSmall({ html, text, attachments }: MessageContent): boolean {
  const fileBytes = attachments.reduce((sum, { content }) => sum + content.length, 0);
  return (
    html.length + (text?.length ?? 0) <= SMALL_CONTENT_CHARS_MAX &&
    fileBytes <= SMALL_FILES_BYTES_MAX
  );
}

/** Files are only encoded, which is much cheaper than converting HTML. */
const SMALL_FILES_BYTES_MAX = 1024 * 1024;

export function contentView(id: string, createdAtMs: number, content: MessageContent): ContentView {
  const outgoing = toOutgoing(id, createdAtMs, content);
  const raw = compose(outgoing);
  return {
    subject: content.subject,
    html: content.html,
    text: outgoing.text,
    headers: parseHeaderLines(raw),
    attachments: content.head.original?.attachments ?? content.attachments.map(summarize),
    size_bytes: raw.length,
  };
}

function summarize(file: MessageContent['attachments'][number]): AttachmentSummary {
  return {
    filename: file.filename,
    content_type: file.contentType,
    content_id: file.contentId ?? null,
    size_bytes: file.content.length,
  };
}

export function previewMessage(message: PreparedMessage): Promise<ContentView> {
  return viewContent(message.workspaceId, message.id, message.createdAtMs, message.content);
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
