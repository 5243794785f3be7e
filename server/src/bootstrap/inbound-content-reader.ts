import { type InboundContent, readContent } from '../inbound/inbound-content.ts';
import { readInboundContent } from '../inbound/inbound-message-store.ts';
import { RefusedError } from '../lib/refused-error.ts';
import type { MailParser } from '../mail/mime/mail-parser.ts';
import type { ReadInboundContent } from '../webhooks/dispatch/read-source.ts';

/** Above this, attachments are listed without their content, which the raw mail and the API have. */
const ATTACHMENTS_BYTES_MAX = 10 * 1024 * 1024;

/** Connects webhooks with the inbound messages that some formats contain. */
export function inboundContentReader(parser: MailParser): ReadInboundContent {
  return async (pool, scope, id) => {
    const raw = await readInboundContent(pool, scope, id);
    if (!raw) return undefined;
    const content = await readContent(parser, scope.workspaceId, raw).catch(asUnreadable);
    const bytes = content.attachments.reduce((sum, file) => sum + file.content.length, 0);
    const attachments = bytes <= ATTACHMENTS_BYTES_MAX ? content.attachments : [];
    return { ...content, attachments, raw };
  };
}

/** The parser refuses what would take too long. Receivers still get the raw mail. */
function asUnreadable(error: unknown): InboundContent {
  if (error instanceof RefusedError && error.code === 'malformed_request') {
    return { text: null, html: null, headers: [], attachments: [] };
  }
  throw error;
}
