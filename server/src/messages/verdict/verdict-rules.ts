import type { BounceReason } from '../../events/event-types.ts';
import type { SmtpReply } from '../../mail/smtp-client/reply-parser.ts';
import type { SmtpRejection, SmtpStage } from '../../mail/smtp-client/smtp-results.ts';
import type { ExplanationKey } from './bounce-explanations.ts';

/**
 * What receivers mean by their replies: an ordered table in which the first matching rule wins. It
 * starts with texts that are more specific than the code beside them (large providers use 5.7.1 and
 * 5.2.1 for a dozen situations). Enhanced codes follow (RFC 3463, the IANA registry, and codes that
 * Google and Microsoft added), then texts for receivers without enhanced codes, then plain reply
 * codes.
 *
 * Replies are untrusted input, so no pattern has an unbounded repetition before another one: a text
 * of repeated `exceed` once took 30 ms.
 */
export interface RuleMatch {
  reason: BounceReason;
  /** A more specific explanation than that of the reason. */
  explanationKey?: ExplanationKey;
}

interface Rule extends RuleMatch {
  /** Without the class: 4.1.1 and 5.1.1 mean the same, temporarily or permanently. */
  detail?: RegExp;
  codes?: readonly number[];
  text?: RegExp;
  stages?: readonly SmtpStage[];
}

export function findRule(reply: SmtpReply, stage: SmtpStage): RuleMatch {
  const detail = reply.enhanced?.slice(2) ?? '';
  const text = withoutQuotedNames(reply.text);
  for (const rule of RULES) {
    if (rule.detail && !rule.detail.test(detail)) continue;
    if (rule.codes && !rule.codes.includes(reply.code)) continue;
    if (rule.stages && !rule.stages.includes(stage)) continue;
    if (rule.text && !rule.text.test(text)) continue;
    return rule;
  }
  return { reason: 'unknown' };
}

/**
 * Names that a server quotes are no evidence: `<disabled@…>` may be unknown, and
 * `<mail.spam.example>` may be the sender's own host name.
 */
function withoutQuotedNames(text: string): string {
  return text.replaceAll(BRACKETED_NAME, '<>').replaceAll(ADDRESS, '@');
}

const BRACKETED_NAME = /<[^<>]{1,400}>/g;
/** All addresses except the delisting contacts that large receivers name in their replies. */
const ADDRESS = /(?!delist@)(?<![^\s<>()"':;,])[^\s<>()"'@:;,]{1,64}@[\w.-]{1,255}/gi;

/**
 * Whether the receiver wants fewer messages or connections from us, whatever it thinks of this
 * message.
 */
export function isThrottling({ reply, stage }: SmtpRejection): boolean {
  if (reply.code === 421) return true;
  return reply.code < 500 && findRule(reply, stage).reason === 'rate_limited';
}

const SENDER_STAGES: readonly SmtpStage[] = ['connect', 'greeting', 'ehlo', 'starttls', 'mail'];
const CONTENT_STAGES: readonly SmtpStage[] = ['data', 'body'];

/** Texts that outweigh the code they come with. */
const SPECIFIC_TEXT_RULES: readonly Rule[] = [
  { reason: 'message_too_large', detail: /^(2\.3|3\.4)$/ },
  { reason: 'greylisted', text: /gr[ea]y-?list/i },
  // Blocklists, with any code.
  {
    reason: 'blocked_reputation',
    explanationKey: 'blocklisted',
    text: /spamhaus|spamcop|barracudacentral|b\.barracuda|sorbs|\brbl\b|dnsbl|\bzen\.|sbl-?xbl|uceprotect|invaluement|abusix|mailspike|senderscore|proofpoint.{0,40}(blocked|reputation)|black ?list|block ?list|blocked using/i,
  },
  // Outlook: "part of their network is on our block list (S3150)". Banned ranges name a delisting
  // address.
  { reason: 'blocked_reputation', text: /\(S(3140|3150|77713|77719)\)|delist@|delist\.messaging/i },
  {
    reason: 'rate_limited',
    text: /receiving (e?mail|messages) (at a rate|too quickly)|prevents additional messages|rate[ -]limit|too (much mail|many (connections|messages|mails|concurrent|recipients|new tls))|exceed\w{0,4}.{0,40}(\brate\b|hourly|daily|connection|number of (messages|connections|recipients|mails))|throttl|unusual rate|\[TSS0[1-6]\]|unexpected volume|RP-00[123]|\brate over ?limit|try again later.{0,20}too (fast|many)|maxconn|connection (rate|count)/i,
  },
  {
    reason: 'authentication_failed',
    text: /\b(dmarc|spf|dkim)\b.{0,60}(fail|reject|did(n't| not) pass|not pass|invalid|check|policy|unauthenticated|missing)|(fail|violat|reject).{0,60}\b(dmarc|spf|dkim)\b|unauthenticated (e?mail|sender)|sender.{0,20}is unauthenticated|not authenticated.{0,40}(poses|mail)|required authentication level/i,
  },
  {
    reason: 'authentication_failed',
    explanationKey: 'reverseDns',
    text: /\bptr\b|reverse (dns|lookup|hostname)|\brdns\b|fcrdns|\b(client|ip)\b.{0,30}host ?name/i,
  },
  // Postfix and Exim report issues with the HELO name or the return path only after RCPT. A host or
  // address that is "not found" there is not the recipient.
  {
    reason: 'authentication_failed',
    explanationKey: 'heloRefused',
    text: /\b(helo|ehlo)\b.{0,40}(reject|refus|denied|invalid|not (found|accept|resolv|valid|allow|match)|does(n't| not)|must (be|resolve|match)|fully|forged|bogus)|(invalid|bad|forged|bogus|unacceptable) (helo|ehlo)\b/i,
  },
  {
    reason: 'blocked_policy',
    explanationKey: 'senderRefused',
    text: /\b(sender|return[- ]path)( address)?( domain)? (is )?(reject|refus|verif|unknown|invalid|not (found|valid|verified|exist)|does(n't| not) exist|must (exist|resolve)|(could not|cannot) be verified)|(domain of|envelope) sender/i,
  },
  {
    reason: 'tls_required',
    text: /must issue a? ?starttls|starttls (is )?required|(tls|encrypt\w{0,4}).{0,20}(required|needed)|not sent over a tls/i,
  },
  {
    reason: 'mailbox_full',
    text: /(mail ?box|inbox|account|user|recipient|storage|quota).{0,40}(is full|full\b|over ?quota|exceed|out of (storage|space))|over ?quota|quota (exceed|full)|insufficient (mailbox )?storage for|mailbox.{0,10}full/i,
    stages: ['rcpt', 'data', 'body'],
  },
  // Outlook.com's text for a mailbox that does not exist.
  { reason: 'unknown_mailbox', detail: /^5\.0$/, text: /mailbox unavailable/i, stages: ['rcpt'] },
  // Exchange Online rejects unknown recipients at its edge with "5.4.1 … Access denied".
  { reason: 'unknown_mailbox', detail: /^4\.1$/, text: /recipient address rejected/i },
];

const ENHANCED_CODE_RULES: readonly Rule[] = [
  { reason: 'blocked_policy', explanationKey: 'senderRefused', detail: /^1\.[78]$/ },
  {
    reason: 'blocked_policy',
    explanationKey: 'senderRefused',
    detail: /^1\./,
    stages: SENDER_STAGES,
  },
  { reason: 'unknown_domain', detail: /^1\.2$/ },
  {
    reason: 'unknown_domain',
    explanationKey: 'nullMx',
    detail: /^1\.10$/,
    text: /null ?mx|no mail/i,
  },
  {
    reason: 'unknown_mailbox',
    detail: /^1\.(0|1|3|6|10)$/,
    text: /(user|mailbox|recipient|address|account|alias).{0,60}(unknown|not found|no such|does(n't| not) exist|invalid|unavailable|rejected|not (a )?(valid|known|listed|local))|(unknown|no such|invalid|bad) (user|mailbox|recipient|address|account|local)|recipientnotfound|no user|user lookup/i,
  },
  { reason: 'unknown_mailbox', detail: /^1\.(1|3|6|10)$/ },
  { reason: 'mailbox_disabled', detail: /^2\.1$/ },
  { reason: 'mailbox_full', detail: /^2\.2$/ },
  { reason: 'mailbox_full', detail: /^3\.1$/ },
  { reason: 'unknown_domain', detail: /^4\.(310|312)$/ },
  { reason: 'network_unreachable', explanationKey: 'receiverLoop', detail: /^4\.(6|14)$/ },
  { reason: 'smtputf8_unsupported', detail: /^6\.7$/ },
  { reason: 'content_rejected', detail: /^6\./ },
  // RFC 7372 and the IANA registry: SPF, DKIM, reverse DNS and related checks.
  { reason: 'authentication_failed', explanationKey: 'reverseDns', detail: /^7\.25$/ },
  { reason: 'authentication_failed', detail: /^7\.(20|21|22|23|24|26|27|32|509|515)$/ },
  // Google uses 7.29 for a message without TLS and 7.30 for a missing DKIM signature.
  { reason: 'authentication_failed', detail: /^7\.(29|30)$/, text: /dkim|spf|authenticat/i },
  { reason: 'tls_required', detail: /^7\.(10|29|30)$/ },
  { reason: 'rate_limited', detail: /^7\.(28|500|501|502|650|651|652)$/ },
  { reason: 'blocked_reputation', detail: /^7\.(511|60[6-9]|6[1-4]\d)$/ },
  { reason: 'mailbox_disabled', detail: /^7\.13$/ },
  { reason: 'relaying_denied', detail: /^7\.(3|57|64|8|367|368)$/ },
  // Yahoo's "5.7.9 Message not accepted for policy reasons" means DMARC.
  { reason: 'authentication_failed', detail: /^7\.9$/, text: /policy reasons/i },
  { reason: 'relaying_denied', detail: /^7\.9$/ },
  { reason: 'blocked_policy', detail: /^7\.(2|124|133|134|135|136)$/ },
];

const TEXT_RULES: readonly Rule[] = [
  {
    reason: 'network_unreachable',
    explanationKey: 'receiverNetwork',
    text: /retry timeout exceeded|(envelope|delivery time|queue lifetime) (has )?(expired|exceeded)/i,
  },
  {
    reason: 'relaying_denied',
    text: /relay(ing)? (access )?(is )?(denied|not (permitted|allowed)|prohibited)|unable to relay|not (permitted|allowed) to relay|we do not relay|rcpthosts|authentication (is )?required|relaying|cannot deliver mail for/i,
  },
  {
    reason: 'mailbox_disabled',
    text: /(account|mailbox|user|recipient|address).{0,40}(disabled|inactive|suspended|deactivated|closed|terminated|locked|expired|no longer (active|valid|available|accept))|disabled (user|recipient|mailbox)/i,
  },
  {
    reason: 'unknown_mailbox',
    text: /(user|mailbox|recipient|address|account|alias|inbox).{0,60}(unknown|not found|does(n't| not) exist|not exist|invalid\b|no such|not (a )?(valid|known|listed|local)|could not be found|doesn't have)|(unknown|no such|invalid|bad|nonexistent|non-existent) (user|mailbox|recipient|address|account|local|person|destination)|no (user|mailbox|account|recipient)( here)?( by that name)?\b|this user doesn't have|not our customer|recipientnotfound|user lookup|unrouteable address|undeliverable address/i,
    stages: ['rcpt', 'data', 'body'],
  },
  {
    reason: 'unknown_domain',
    text: /(domain|host).{0,30}(not found|does(n't| not) exist|unknown|not (hosted|configured|served) here)|(unknown|no such) (domain|host)/i,
    stages: ['rcpt', 'data', 'body'],
  },
  {
    reason: 'message_too_large',
    text: /(message|size|mail).{0,40}(too (big|large|long)|exceeds|over (the )?(max|limit))|maximum (message )?size/i,
  },
  {
    reason: 'content_rejected',
    text: /virus|malware|phish|infected|spam (message|content|detected|score)|(message|mail|content|attachment|this).{0,60}(looks like|identified as|classified as|considered|detected as|judged|resembles|contains?).{0,30}(spam|junk|virus|unsolicited|suspicious)|content.{0,20}(reject|block|presents a potential)|potential security issue|(url|link|attachment|file type).{0,40}(not allowed|block|reject|list)|likely (unsolicited|suspicious)|unsolicited/i,
  },
  {
    reason: 'blocked_reputation',
    text: /reputation|bad sender|poor|spam(my)? (source|history|activity)|\b(ip|server|network|(?<!recipient )address|host|client)(e?s)?\b.{0,50}(block|banned|denied|blacklist|refused|rejected|listed)|low (trust|score)|user complaints|suspicious/i,
  },
  {
    reason: 'blocked_policy',
    text: /polic(y|ies)|not (authorized|allowed|permitted|accepted)|access denied|administrative|prohibit|refused by|denied|block|\[(CS|HM)\d+\]|spam/i,
  },
];

const REPLY_CODE_RULES: readonly Rule[] = [
  {
    reason: 'unknown',
    explanationKey: 'busy',
    codes: [450, 451],
    text: /temporar|unavailable|(try|come) (again|back|later)/i,
  },
  { reason: 'blocked_policy', detail: /^7\./ },
  { reason: 'unknown_mailbox', detail: /^1\.0$/, stages: ['rcpt'] },
  { reason: 'network_unreachable', explanationKey: 'receiverNetwork', detail: /^4\./ },
  { reason: 'rate_limited', detail: /^5\.3$/ },
  { reason: 'unknown', detail: /^5\.0$/ },
  { reason: 'protocol_error', detail: /^5\./ },
  { reason: 'unknown_mailbox', codes: [551] },
  { reason: 'unknown_mailbox', codes: [553], stages: ['rcpt'] },
  { reason: 'blocked_policy', explanationKey: 'senderRefused', codes: [553] },
  // RFC 7504: hosts and domains that accept no mail.
  { reason: 'unknown_domain', explanationKey: 'nullMx', codes: [521, 556] },
  { reason: 'mailbox_full', codes: [552, 452], stages: ['rcpt'] },
  { reason: 'message_too_large', codes: [523, 552] },
  { reason: 'relaying_denied', codes: [530, 534, 535, 538] },
  { reason: 'protocol_error', codes: [500, 501, 502, 503, 504, 455, 555] },
  { reason: 'blocked_policy', codes: [554], stages: ['greeting', 'ehlo', 'mail'] },
  { reason: 'content_rejected', codes: [554], stages: CONTENT_STAGES },
  { reason: 'rate_limited', explanationKey: 'busy', codes: [421] },
  { reason: 'unknown', explanationKey: 'busy', codes: [450, 451, 452] },
];

const RULES: readonly Rule[] = [
  ...SPECIFIC_TEXT_RULES,
  ...ENHANCED_CODE_RULES,
  ...TEXT_RULES,
  ...REPLY_CODE_RULES,
];
