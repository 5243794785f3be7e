import type { MailParser } from '../mail/mime/mail-parser.ts';
import type { ParsedAttachment } from '../mail/mime/parse-mail.ts';
import { cleanText } from './summarize-mail.ts';

/** What a reader sees of an inbound message. */
export interface InboundContent {
  /** Null when the mail has no such part. */
  text: string | null;
  html: string | null;
  /** In their order, decoded. */
  headers: { name: string; value: string }[];
  /** More than the summary lists, if there are very many. */
  attachments: ParsedAttachment[];
}

const HEADER_CHARS_MAX = 64 * 1024;

export async function readContent(
  parser: MailParser,
  workspaceId: string,
  raw: Buffer,
): Promise<InboundContent> {
  const mail = await parser.parse(workspaceId, raw, { forSending: false });
  return {
    text: mail.text ?? null,
    html: mail.html === '' ? null : mail.html,
    headers: mail.headers.map(({ name, value }) => ({
      name: cleanText(name, HEADER_CHARS_MAX),
      value: cleanText(value, HEADER_CHARS_MAX),
    })),
    attachments: mail.attachments,
  };
}
