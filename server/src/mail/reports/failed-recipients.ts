import type { DeliveryReport } from './dsn.ts';
import { type ReadMail, shownText } from './mime-structure.ts';
import { noticeOf, noticeWords } from './notice-text.ts';
import { addressOf, readDiagnostic } from './report-fields.ts';

/**
 * Bounces of Exim and of Google that have no report, or an empty one: a header names the recipients,
 * and the words for people tell why. Such a bounce is always for good.
 */
export function readFailedRecipients(mail: ReadMail): DeliveryReport | undefined {
  const named = mail.header.all('x-failed-recipients').join(',').split(',', RECIPIENTS_MAX);
  const addresses = named.map(addressOf).filter((key) => key !== null);
  if (addresses.length === 0) return undefined;
  const reason = reasonIn(noticeOf(mail));
  const recipients = addresses.map((finalRecipient) => {
    const said = readDiagnostic(noticeWords(mail, finalRecipient) ?? reason);
    return {
      action: 'failed' as const,
      status: said.status,
      originalRecipient: null,
      finalRecipient,
      remoteMta: null,
      code: said.code,
      text: said.text,
    };
  });
  return { reportingMta: null, recipients };
}

const RECIPIENTS_MAX = 100;
const REASON_CHARS_MAX = 500;

/** From what the other server said: everything before it is the same in every bounce. */
function reasonIn(text: string): string {
  const begin = text.search(/\n[ \t>]*[45]\d\d[ -]|the response (from the remote server )?was:\s/i);
  const reason = shownText(text.slice(Math.max(begin, 0))).replace(/^the response[^:]*:\s*/i, '');
  return Buffer.from(reason.slice(0, REASON_CHARS_MAX), 'utf8').toString('latin1');
}
