import {
  displayText,
  embeddedHeaderText,
  HeaderFields,
  type MailStructure,
} from './mime-structure.ts';
import { parseAddressKey } from './report-fields.ts';

/**
 * Reads feedback reports (RFC 5965), in which a mailbox provider reports that a recipient marked a
 * mail as spam. Returns undefined when the mail is not such a report. The contents prove nothing:
 * callers must look for a return path of ours in the returned mail.
 */
export interface FeedbackReport {
  /** Lower case: `abuse`, `fraud`, `not-spam` and others. */
  type: string;
  /** The software that wrote the report. */
  reporter: string | null;
  /** The recipients of the mail, as keys for comparison; providers often omit them. */
  recipients: string[];
  /** Text that may contain a return path of ours: the report's fields and the returned header. */
  returned: string;
}

const TEXT_CHARS_MAX = 255;
const RECIPIENTS_MAX = 100;

export function readFeedbackReport(mail: MailStructure): FeedbackReport | undefined {
  const part = mail.parts.find(({ type }) => type.name === 'message/feedback-report');
  const original = mail.parts.find(({ type }) => RETURNED.test(type.name));
  const header = original ? embeddedHeaderText(original.body) : '';
  // Outlook.com sends no report part: it returns the mail with an extra header field.
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
