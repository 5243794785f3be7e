import { InboundMessages } from '../inbound/inbound-messages.ts';
import { RefusedError } from '../lib/refused-error.ts';
import type { MailParser } from '../mail/mime/mail-parser.ts';
import type { ReadInboundContent } from '../webhooks/read-source.ts';

/** Above this, attachments are listed without their content, which the API returns. */
const ATTACHMENTS_BYTES_MAX = 10 * 1024 * 1024;

/** Connects webhooks with the inbound messages that some formats contain. */
export function inboundContentReader(parser: MailParser): ReadInboundContent {
  return async (pool, scope, id) => {
    const inbound = new InboundMessages({ pool, parser });
    const content = await inbound.content(scope, id).catch(asUnreadable);
    if (!content) return undefined;
    const bytes = content.attachments.reduce((sum, file) => sum + file.content.length, 0);
    return bytes <= ATTACHMENTS_BYTES_MAX ? content : { ...content, attachments: [] };
  };
}

/** The parser refuses what would take too long. The event is then sent without the content. */
function asUnreadable(error: unknown): undefined {
  if (error instanceof RefusedError && error.code === 'malformed_request') return undefined;
  throw error;
}
