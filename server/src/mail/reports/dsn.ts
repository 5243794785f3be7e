import type { SmtpStage } from '../smtp-client/smtp-results.ts';
import { HeaderFields, type MailStructure } from './mime-structure.ts';
import { noticeHeadline, noticeStageFor, noticeTextFor } from './notice-text.ts';
import {
  fieldValue,
  parseAddressKey,
  parseDiagnostic,
  parseMtaName,
  stageIn,
  statusIn,
} from './report-fields.ts';

/**
 * Reads delivery status notifications (RFC 3464, RFC 6533), in which a server reports the fate of a
 * mail it had accepted. Returns the status of each recipient, or undefined when the mail is not a
 * DSN. Servers deviate from the standard, so only `Action` and the codes are trusted, and missing
 * values are derived from the others.
 */
export interface DeliveryReport {
  /** The server that sent the report. */
  reportingMta: string | null;
  recipients: ReportedRecipient[];
}

export const REPORT_ACTIONS = ['failed', 'delayed', 'delivered', 'relayed', 'expanded'] as const;
export type ReportAction = (typeof REPORT_ACTIONS)[number];

export interface ReportedRecipient {
  action: ReportAction;
  /** RFC 3463, such as `5.1.1`. */
  status: string | null;
  /** As a key for comparison (mail/address.ts). */
  originalRecipient: string | null;
  finalRecipient: string | null;
  /** The server that rejected the mail, if it is another one. */
  remoteMta: string | null;
  /** The SMTP reply of that server, if there was one. */
  code: number | null;
  text: string;
  /** The command that it rejected; null when the report does not say. */
  stage: SmtpStage | null;
}

const GROUPS_MAX = 200;

export function readDeliveryReport(mail: MailStructure): DeliveryReport | undefined {
  const part = mail.parts.find(({ type }) =>
    /^message\/(global-)?delivery-status$/.test(type.name),
  );
  return part && reportFrom(part.body, mail);
}

/**
 * Reads the fields of a DSN that are part of the text: WorkMail writes them there, and so does a
 * server whose MIME boundaries were lost on the way.
 */
export function readEmbeddedReport(text: string, mail: MailStructure): DeliveryReport | undefined {
  const begin = text.search(/^(Reporting-MTA|Final-Recipient|Action|Diagnostic-Code):/im);
  return begin === -1 ? undefined : reportFrom(text.slice(begin), mail);
}

function reportFrom(body: string, mail: MailStructure): DeliveryReport | undefined {
  const [first, ...others] = fieldGroups(body);
  if (!first) return undefined;
  // Some servers omit the per-message group and start with the first recipient.
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
  // Exchange Edge has its own field for the reply of the other server.
  const field = fieldValue(fields.get('diagnostic-code') ?? fields.get('x-supplementary-info'));
  const diagnostic = parseDiagnostic(
    hasText(field) ? field : (textFromNotice(fields, mail) ?? field),
  );
  const status = statusIn(fields.get('status') ?? '');
  const action = EXPIRED.test(diagnostic.text)
    ? 'failed'
    : actionOf(fields.get('action'), status ?? diagnostic.status);
  if (action === undefined) return undefined;
  // "5.0.0" says less than the server's reply.
  const vague = status === null || /^\d\.0\.0$/.test(status);
  return {
    action,
    status: vague ? (diagnostic.status ?? status) : status,
    originalRecipient: parseAddressKey(fields.get('original-recipient')),
    finalRecipient: parseAddressKey(fields.get('final-recipient')),
    remoteMta: parseMtaName(fields.get('remote-mta')),
    code: diagnostic.code,
    text: diagnostic.text,
    stage: stageIn(field) ?? noticeStageFor(mail, reportedName(fields)),
  };
}

/** OpenSMTPD gives up with this text, but reports the action as delayed. */
const EXPIRED = /^Envelope expired$/;

/** Sendmail's "X-Unix; 67" is only the exit code of a program. */
function hasText(diagnostic: string): boolean {
  return /[^\d\s.]/.test(diagnostic);
}

function textFromNotice(fields: HeaderFields, mail: MailStructure): string | undefined {
  return (
    noticeTextFor(mail, reportedName(fields)) ??
    noticeHeadline(mail) ??
    STATUS_COMMENT.exec(fields.get('status') ?? '')?.[1]
  );
}

/** Oracle's server writes the reason behind the code. */
const STATUS_COMMENT = /^[\d.]{5,12} \(([^()]{1,500})\)/;

function reportedName(fields: HeaderFields): string {
  const named = fieldValue(fields.get('final-recipient') ?? fields.get('original-recipient'));
  return named.replace(/^<(.*)>$/, '$1');
}

function actionOf(field: string | undefined, status: string | null): ReportAction | undefined {
  const [word = ''] = (field ?? '')
    .trim()
    .toLowerCase()
    .split(/[^a-z]/, 1);
  const action = REPORT_ACTIONS.find((one) => one === word);
  if (action) return action;
  if (status === null) return undefined;
  return { 2: 'delivered', 4: 'delayed', 5: 'failed' }[status.charAt(0)] as ReportAction;
}
