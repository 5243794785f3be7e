import type { Sealer } from '../lib/sealer.ts';
import type { MessageContent } from './content.ts';

/**
 * The real words of a message that was made with secret values. What is stored in the open is
 * redacted, so that whoever reads contents, now or in years, finds nothing; the words themselves are
 * sealed, and only the delivery engine and the test inbox open them.
 */

export function sealContent(sealer: Sealer, content: MessageContent): Buffer {
  const { subject, head, html, text } = content;
  return sealer.seal(Buffer.from(JSON.stringify({ subject, head, html, text })));
}

/** Undefined when the real words are gone: what is left of the content must not be sent. */
export function openContent(
  sealer: Sealer,
  sealed: Buffer,
): Omit<MessageContent, 'attachments'> | undefined {
  if (sealed.length === 0) return undefined;
  return JSON.parse(sealer.open(sealed).toString()) as Omit<MessageContent, 'attachments'>;
}

/** For what the sealer's key is used here, and nowhere else. */
export const CONTENT_PURPOSE = 'content';
