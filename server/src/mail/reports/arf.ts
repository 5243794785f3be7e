import { HeaderFields, embeddedHeaderText, type MailStructure, displayText } from './mime-structure.ts';
import { parseAddressKey } from './report-fields.ts';

/**
 * Feedback reports (RFC 5965): a provider tells that a recipient called a mail spam. A mail that was
 * read comes in; who complains of what leaves, or undefined when it is no such report. Nothing of it
 * is proof: whoever uses it looks for a return path of ours in what was returned.
 */
export interface FeedbackReport {
  /** Lower case: `abuse`, `fraud`, `not-spam` and others. */
  type: string;
  /** The program that wrote it. */
  reporter: string | null;
  /** Whom the mail was sent to, as keys to compare with; providers often leave them out. */
  recipients: string[];
  /** Where a return path of ours may stand: what the report says, and the header of the mail. */
  returned: string;
}

const TEXT_CHARS_MAX = 255;
const RECIPIENTS_MAX = 100;

export function readFeedbackReport(mail: MailStructure): FeedbackReport | undefined {
  const part = mail.parts.find(({ type }) => type.name === 'message/feedback-report');
  const original = mail.parts.find(({ type }) => RETURNED.test(type.name));
  const header = original ? embeddedHeaderText(original.body) : '';
  // Outlook.com's own form has no report: it returns the mail, with a line of its own in the header.
  const marked = new HeaderFields(header).all('x-hmxmroriginalrecipient');
  if (!part && marked.length === 0) return undefined;
  const fields = new HeaderFields(
    part ? part.body.replace(/^[\r\n]+/, '') : 'Feedback-Type: abuse',
  );
  const recipients = [...fields.all('original-rcpt-to'), ...marked];
  return {
    type: displayText(fields.get('feedback-type') ?? '', TEXT_CHARS_MAX).toLowerCase(),
    reporter: displayText(fields.get('user-agent') ?? '', TEXT_CHARS_MAX) || null,
    recipients: recipients
      .slice(0, RECIPIENTS_MAX)
      .map(parseAddressKey)
      .filter((key) => key !== null),
    returned: `${fields.all('original-mail-from').join('\n')}\n${header}`,
  };
}

const RETURNED = /^(message\/(global|rfc822|rfc822-headers|global-headers)|text\/rfc822-headers)$/;
