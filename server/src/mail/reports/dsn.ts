import { HeaderFields, type MailStructure } from './mime-structure.ts';
import { noticeTextFor } from './notice-text.ts';
import { parseAddressKey, fieldValue, parseMtaName, parseDiagnostic, statusIn } from './report-fields.ts';

/**
 * Delivery status notifications (RFC 3464, RFC 6533): what a server that had taken a mail says of it
 * later. A mail that was read comes in; what it reports of each recipient leaves, or undefined when
 * it is no such report. Servers write these by hand and lie in small ways, so only `Action` and the
 * codes are believed, and what is missing is taken from what is there.
 */
export interface DeliveryReport {
  /** The server that writes. */
  reportingMta: string | null;
  recipients: ReportedRecipient[];
}

export const REPORT_ACTIONS = ['failed', 'delayed', 'delivered', 'relayed', 'expanded'] as const;
export type ReportAction = (typeof REPORT_ACTIONS)[number];

export interface ReportedRecipient {
  action: ReportAction;
  /** RFC 3463, such as `5.1.1`. */
  status: string | null;
  /** As a key to compare with (mail/address.ts). */
  originalRecipient: string | null;
  finalRecipient: string | null;
  /** The server that refused, when it was another one. */
  remoteMta: string | null;
  /** What that server said, when it spoke SMTP. */
  code: number | null;
  text: string;
}

const GROUPS_MAX = 200;

export function readDeliveryReport(mail: MailStructure): DeliveryReport | undefined {
  const part = mail.parts.find(({ type }) =>
    /^message\/(global-)?delivery-status$/.test(type.name),
  );
  if (!part) return undefined;
  const [first, ...others] = fieldGroups(part.body);
  if (!first) return undefined;
  // Some write no group about the message and begin with the first recipient.
  const groups = isRecipient(first) ? [first, ...others] : others;
  const recipients = groups.filter(isRecipient).map((group) => recipientOf(group, mail));
  const reported = recipients.filter((one): one is ReportedRecipient => one !== undefined);
  if (reported.length === 0) return undefined;
  return { reportingMta: parseMtaName(first.get('reporting-mta')), recipients: reported };
}

function fieldGroups(body: string): HeaderFields[] {
  return body
    .split(/\n[ \t]*\r?\n/, GROUPS_MAX)
    .map((block) => new HeaderFields(block.replace(/^[\r\n]+/, '')))
    .filter((fields) => fields.size > 0);
}

function isRecipient(fields: HeaderFields): boolean {
  return ['final-recipient', 'original-recipient', 'action', 'status'].some(
    (name) => fields.get(name) !== undefined,
  );
}

function recipientOf(fields: HeaderFields, mail: MailStructure): ReportedRecipient | undefined {
  // Exchange's edge has a field of its own for what the other server said.
  const field = fieldValue(fields.get('diagnostic-code') ?? fields.get('x-supplementary-info'));
  const diagnostic = parseDiagnostic(hasText(field) ? field : (textFromNotice(fields, mail) ?? field));
  const status = statusIn(fields.get('status') ?? '');
  const action = EXPIRED.test(diagnostic.text)
    ? 'failed'
    : actionOf(fields.get('action'), status ?? diagnostic.status);
  if (action === undefined) return undefined;
  // "5.0.0" says nothing that the server's own words do not say better.
  const vague = status === null || /^\d\.0\.0$/.test(status);
  return {
    action,
    status: vague ? (diagnostic.status ?? status) : status,
    originalRecipient: parseAddressKey(fields.get('original-recipient')),
    finalRecipient: parseAddressKey(fields.get('final-recipient')),
    remoteMta: parseMtaName(fields.get('remote-mta')),
    code: diagnostic.code,
    text: diagnostic.text,
  };
}

/** OpenSMTPD gives up with these words, and calls it delayed. */
const EXPIRED = /^Envelope expired$/;

/** Sendmail's "X-Unix; 67" is the end of a program. */
function hasText(diagnostic: string): boolean {
  return /[^\d\s.]/.test(diagnostic);
}

function textFromNotice(fields: HeaderFields, mail: MailStructure): string | undefined {
  const named = fieldValue(fields.get('final-recipient') ?? fields.get('original-recipient'));
  return named === '' ? undefined : noticeTextFor(mail, named.replace(/^<(.*)>$/, '$1'));
}

function actionOf(given: string | undefined, status: string | null): ReportAction | undefined {
  const [word = ''] = (given ?? '')
    .trim()
    .toLowerCase()
    .split(/[^a-z]/, 1);
  const action = REPORT_ACTIONS.find((one) => one === word);
  if (action) return action;
  if (status === null) return undefined;
  return { 2: 'delivered', 4: 'delayed', 5: 'failed' }[status.charAt(0)] as ReportAction;
}
