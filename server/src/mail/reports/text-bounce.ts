import { decodedSubject, isAutoReplySubject } from './auto-reply.ts';
import {
  type DeliveryReport,
  type ReportAction,
  type ReportedRecipient,
  readEmbeddedReport,
} from './dsn.ts';
import type { MailStructure } from './mime-structure.ts';
import { noticeLines } from './notice-text.ts';
import { parseAddressKey, parseDiagnostic, stageIn } from './report-fields.ts';

/**
 * Reads bounces in free text: Yahoo, Zoho, GMX, WorkMail, Exchange 2003, Notes, OpenSMTPD, dma and
 * dozens of others write no DSN. The signed return path already proves which delivery they mean, so
 * it is enough to tell a final failure from everything else that arrives there. A failure is mail
 * from a mail system whose subject or text says that a message was not delivered; from any other
 * null sender, both must say so. Delay warnings, requests to confirm, read receipts and vacation
 * notices are never failures, even when they quote such words.
 */
export function readTextBounce(mail: MailStructure, from: string): DeliveryReport | undefined {
  if (mail.parts.some(({ type }) => NOT_A_BOUNCE.test(type.name))) return undefined;
  const subject = decodedSubject(mail.header);
  const lines = noticeLines(mail);
  const text = lines.join('\n');
  if (isAutoReplySubject(subject) || NO_FAILURE.test(subject) || NO_FAILURE.test(text))
    return undefined;
  const signs = Number(FAILURE_SUBJECT.test(subject)) + Number(FAILURE.test(text));
  const isDelayed = DELAY_SUBJECT.test(subject) || DELAY.test(text);
  if (isFromMailSystem(mail, from) ? signs === 0 && !isDelayed : from !== '' || signs < 2)
    return undefined;
  if (isDelayed) return { reportingMta: null, recipients: [recipientOf(null, text, 'delayed')] };
  return readEmbeddedReport(text, mail) ?? { reportingMta: null, recipients: recipientsIn(lines) };
}

const NOT_A_BOUNCE = /^message\/(disposition-notification|feedback-report)$/;

function isFromMailSystem(mail: MailStructure, from: string): boolean {
  const named = mail.header.get('from') ?? (from === '' ? '<>' : '');
  return MAIL_SYSTEM_LOCAL_PART.test(from) || MAIL_SYSTEM.test(named);
}

const MAIL_SYSTEM_LOCAL_PART = /^(mailer-daemon|postmaster|double-bounce)@/i;
const MAIL_SYSTEM =
  /^<>$|\bmailer[-_]?daemon\b|\bpost_?master\b|\bmail[ ._]deliver|\bdelivery (sub)?system\b/i;

/** The patterns are lists of alternatives; all their repetitions are bounded. */
function anyOf(...patterns: string[]): RegExp {
  return new RegExp(patterns.join('|'), 'i');
}

const FAILURE_SUBJECT = anyOf(
  '\\bundeliver(ed|able)\\b',
  '\\bdelivery\\b.{0,40}\\b(fail(ed|ure)|error|problem)',
  '\\bfail(ed|ure)\\b.{0,20}\\b(delivery|notice|mail|returning)\\b',
  '\\breturned mail\\b',
  '\\bmail (system )?(failure|error)\\b',
  "\\b(could not|can(not|'t)) be (delivered|sent)\\b",
  '\\bnon-?deliver(y|ed)\\b',
  '\\bbounce notification\\b',
  '\\bdelivery status notification\\b',
  '\\berror sending your mail\\b',
  '\\bunzustellbar|\\bnicht zugestellt\\b',
  '\\béchec de (la )?(remise|distribution)\\b',
  '\\bno entregado\\b',
  '\\bmancat[ao] (consegna|recapito)\\b',
  '\\bnão entregue\\b',
  '\\bonbestelbaar\\b',
);

const FAILURE = anyOf(
  "\\b(could|can|was|were|has|have|did|does) ?(not|n't)\\s(be |been |able to be )?(delivered|deliver|reach|be sent)\\b",
  "\\b(unable|not able|wasn't able|failed) to (be )?deliver",
  '\\bundeliverable\\b',
  '\\bdelivery .{0,60}\\bfail(ed|ure)\\b',
  '\\bfail(ed|ure)\\b.{0,20}\\bpermanent',
  '\\bpermanent(ly)? (fatal |delivery )?(error|fail)',
  '\\b(delivery|fatal) (errors|problems)\\b',
  '\\berror (delivering|(has )?occurred while (trying|attempting) to deliver)\\b',
  '\\brejected by a remote\\s(mail )?server\\b',
  '\\btrouble delivering\\b',
  '\\btranscript of session follows\\b',
  '\\bfailure reasons\\b',
  '\\bincorrectly\\sconstructed\\b',
  '\\bdelivery to the following recipients was aborted\\b',
  '(<<<|>>>) ?5\\d\\d[ -]',
  '\\b5\\d\\d[ -]{1,3}requested action not taken\\b',
);

const DELAY_SUBJECT = /\bdelay(ed)?\b|^\W{0,5}warning\b|\bstill being (re)?tried\b/i;

const DELAY = anyOf(
  '\\bwarning (message )?only\\b',
  '\\bnot yet been delivered\\b',
  '\\b(has been|is|was) delayed\\b',
  '\\bwill be retried\\b',
  "\\b(not|n't) need to re-?send\\b",
  '\\bonly a temporary failure\\b',
  "\\b(will|'ll) (continue|keep) (to )?try",
  '\\bstill (trying|being (re)?tried)\\b',
  '\\bno action is required\\b',
);

/**
 * Success notices, requests to confirm, and notices of moderators and quarantines: TMDA, mailing
 * lists, filters.
 */
const NO_FAILURE = anyOf(
  '\\bsuccess(ful)?\\b|\\b(was|were|been) successfully (delivered|relayed)\\b',
  '\\baction: (delivered|relayed|expanded)\\b',
  '\\b(is|are|was|been) (being )?held\\b',
  '\\bawait(s|ing) (moderat|confirm|approv|your)',
  '\\b(please|to) (confirm|verify) (that )?(you|your|this)\\b',
  '\\bconfirmation (required|request)',
  '\\bclick\\b.{0,40}\\bto (confirm|verify|release|deliver)',
  '\\breply to this (e-?mail|message)\\b.{0,40}\\bto (confirm|deliver|release)',
  '\\bquarantine',
);

const RECIPIENTS_MAX = 100;
const SECTION_LINES_MAX = 20;

/**
 * One recipient for each address that the notice names, with the lines from there to the next
 * address. Those with a reply code come first, because notices also name other addresses.
 */
function recipientsIn(lines: readonly string[]): ReportedRecipient[] {
  const starts = new Map<string, number>();
  for (const [at, line] of lines.entries()) {
    const address = OTHER_ADDRESS.test(line) ? undefined : ADDRESS.exec(line)?.[0];
    if (address === undefined || starts.has(address)) continue;
    if (starts.size < RECIPIENTS_MAX) starts.set(address, at);
  }
  const ends = [...starts.values()].slice(1);
  const recipients = [...starts].map(([address, at], index) => {
    const end = Math.min(ends[index] ?? lines.length, at + SECTION_LINES_MAX);
    const text = lines.slice(at, end).join(' ');
    const isBare = !/[a-z]{3}/i.test(text.replaceAll(ADDRESSES, ' '));
    return recipientOf(address, isBare ? lines.slice(Math.max(0, at - 3), at).join(' ') : text);
  });
  const withCode = recipients.filter(hasCode);
  if (withCode.length > 0) return [...withCode, ...recipients.filter((one) => !hasCode(one))];
  // Some servers give the reply before the address.
  const replyAt = lines.findIndex((line) => hasCode(parseDiagnostic(line)));
  if (replyAt === -1 && recipients.length > 0) return recipients;
  const end = replyAt === -1 ? undefined : replyAt + SECTION_LINES_MAX;
  const reason = lines.slice(Math.max(0, replyAt), end).join(' ');
  const addresses = recipients.length > 0 ? [...starts.keys()] : [null];
  return addresses.map((address) => recipientOf(address, reason));
}

function hasCode({ code, status }: Pick<ReportedRecipient, 'code' | 'status'>): boolean {
  return code !== null || status !== null;
}

const ADDRESS = /[^\s<>()"'`,;:=[\]|]{1,64}@[\w.-]{1,255}\w/;
const ADDRESSES = new RegExp(ADDRESS, 'g');
/** Lines that name someone other than the recipient. */
const OTHER_ADDRESS =
  /\b(contact|assistance|envelope-from|sender)\b|^\W{0,20}(from|mail from|to|cc|subject|message-id|date)\b/i;

function recipientOf(
  address: string | null,
  text: string,
  action: ReportAction = 'failed',
): ReportedRecipient {
  const diagnostic = parseDiagnostic(text);
  return {
    action,
    status: diagnostic.status,
    originalRecipient: null,
    finalRecipient: address === null ? null : parseAddressKey(address),
    remoteMta: null,
    code: diagnostic.code,
    text: diagnostic.text,
    stage: stageIn(text),
  };
}
