import type { DeliveryReport } from './dsn.ts';
import { displayText, type MailStructure } from './mime-structure.ts';
import { humanReadablePart, noticeStageFor, noticeTextFor } from './notice-text.ts';
import { parseAddressKey, parseDiagnostic } from './report-fields.ts';

/**
 * Reads bounces of Exim and Google that have no DSN part, or an empty one: a header lists the
 * recipients, and the human-readable part has the reason. Such bounces are always permanent.
 */
export function readFailedRecipients(mail: MailStructure): DeliveryReport | undefined {
  const named = mail.header.all('x-failed-recipients').join(',').split(',', RECIPIENTS_MAX);
  const addresses = named.map(parseAddressKey).filter((key) => key !== null);
  if (addresses.length === 0) return undefined;
  const reason = extractReason(humanReadablePart(mail));
  const recipients = addresses.map((finalRecipient) => {
    const diagnostic = parseDiagnostic(noticeTextFor(mail, finalRecipient) ?? reason);
    return {
      action: 'failed' as const,
      status: diagnostic.status,
      originalRecipient: null,
      finalRecipient,
      remoteMta: null,
      code: diagnostic.code,
      text: diagnostic.text,
      stage: noticeStageFor(mail, finalRecipient),
    };
  });
  return { reportingMta: null, recipients };
}

const RECIPIENTS_MAX = 100;
const REASON_CHARS_MAX = 500;

/** Starts at the other server's reply; the text before it is the same in every bounce. */
function extractReason(text: string): string {
  const begin = text.search(/\n[ \t>]*[45]\d\d[ -]|the response (from the remote server )?was:\s/i);
  const reason = displayText(text.slice(Math.max(begin, 0))).replace(/^the response[^:]*:\s*/i, '');
  return Buffer.from(reason.slice(0, REASON_CHARS_MAX), 'utf8').toString('latin1');
}
