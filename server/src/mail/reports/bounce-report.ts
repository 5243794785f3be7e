import { type DeliveryReport, readDeliveryReport } from './dsn.ts';
import { readFailedRecipients } from './failed-recipients.ts';
import type { MailStructure } from './mime-structure.ts';
import { readQsbmf } from './qsbmf.ts';
import { readTextBounce } from './text-bounce.ts';

/**
 * Reads a bounce in any format, most precise first. `from` is the envelope sender: bounces come from
 * the null sender (RFC 5321 section 4.5.5), and text formats are recognized in mail from it or from
 * a mail system.
 */
export function readBounceReport(mail: MailStructure, from: string): DeliveryReport | undefined {
  const report = readDeliveryReport(mail);
  if (report) return report;
  const fromText = from === '' ? (readQsbmf(mail) ?? readFailedRecipients(mail)) : undefined;
  return fromText ?? readTextBounce(mail, from);
}
