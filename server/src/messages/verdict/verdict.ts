import type { Bounce, BounceReason } from '../../events/event-types.ts';
import { unreachable } from '../../lib/assert.ts';
import type { SmtpReply } from '../../mail/smtp-client/reply-parser.ts';
import type {
  SmtpError,
  SmtpFailure,
  SmtpRejection,
  SmtpStage,
} from '../../mail/smtp-client/smtp-results.ts';
import { explain, type FailureReason } from './bounce-explanations.ts';
import { findRule, type RuleMatch } from './verdict-rules.ts';

/**
 * The one place that decides what the result of an attempt means. In come facts: the receiver's
 * reply, or what went wrong before it. Out goes delivered, deferred (will be retried), bounced
 * (permanently rejected) or failed (cannot be sent), with a reason from the closed list and an
 * explanation for the sender. It is pure: the same facts always get the same verdict.
 */
export type AttemptResult =
  | { kind: 'accepted'; reply: SmtpReply }
  | SmtpFailure
  | RouteError
  | { kind: 'unsigned'; detail: string }
  | { kind: 'suspended'; detail: string }
  | { kind: 'unsendable'; reason: FailureReason; detail: string };

/** No route to the receiver was found, or it must not be used. */
export interface RouteError {
  kind:
    | 'domain_not_found'
    | 'domain_takes_no_mail'
    | 'domain_without_address'
    | 'out_of_reach'
    | 'name_server_failed'
    | 'loop'
    | 'no_relay';
  detail: string;
}

export type Verdict =
  | { kind: 'delivered' }
  | { kind: 'deferred'; bounce: Bounce }
  | { kind: 'bounced'; bounce: Bounce }
  | { kind: 'failed'; reason: FailureReason; explanation: string };

export interface AttemptContext {
  relay: boolean;
  /** The address of the recipient, where it is known. */
  recipient?: string;
  /** How long the message has been tried; 0 when it is not known. */
  cycleAgeMs?: number;
}

export function classifyAttempt(
  end: AttemptResult,
  context: AttemptContext = { relay: false },
): Verdict {
  switch (end.kind) {
    case 'accepted':
      return { kind: 'delivered' };
    case 'refused':
      return classifyRefusal(end, context);
    case 'domain_not_found':
      return bounced('unknown_domain', 'domainNotFound');
    case 'domain_takes_no_mail':
      return bounced('unknown_domain', 'nullMx');
    case 'domain_without_address':
      // The domain exists and its owner may fix it, so the address is not suppressed.
      return bounced('unknown_domain', 'noAddress', 'soft');
    case 'out_of_reach':
      return deferred('network_unreachable', 'outOfReach');
    case 'name_server_failed':
      return deferred('network_unreachable', 'dnsFailed');
    case 'loop':
      return bounced('protocol_error', 'loop');
    case 'no_relay':
      return deferred('network_unreachable', 'noRelay');
    case 'unsigned':
      return deferred('authentication_failed', 'unsigned');
    case 'suspended':
      return deferred('blocked_policy', 'suspended');
    case 'unsendable':
      return { kind: 'failed', reason: end.reason, explanation: explain(end.reason, 'failed') };
    default:
      return classifyConnectionError(end, context);
  }
}

/**
 * Classifies a failure that a server reported by mail after accepting the message. The server has
 * given up, so the result is final whatever the code. A transient condition is not held against the
 * address.
 */
export function classifyReport(failure: FailureReport): Bounce {
  const match = reportRule(failure);
  const soft = isTransient(failure) && BOUNCE_CLASSES[match.reason] === 'hard';
  return bounceFor(match.reason, match.explanationKey, soft ? 'soft' : undefined);
}

export interface FailureReport {
  code: number | null;
  status: string | null;
  text: string;
  /** The command that was rejected; null when the report does not say. */
  stage: SmtpStage | null;
}

function reportRule(failure: FailureReport): RuleMatch {
  const code = failure.code ?? (isTransient(failure) ? 450 : 550);
  const reply = { code, enhanced: failure.status, text: failure.text };
  // Most reports do not say which command was rejected; RCPT is by far the most common.
  return findRule(reply, failure.stage ?? 'rcpt');
}

function isTransient({ status, code }: FailureReport): boolean {
  return status ? status.startsWith('4') : (code ?? 550) < 500;
}

/**
 * What a bounce was decided on, besides the reply: stored with a suppression, so that it can be
 * explained and reviewed.
 */
export interface BounceBasis {
  /** The id of the rule; null when no rule was needed, such as for a domain that does not exist. */
  rule: string | null;
  /** The rejected command; null when a report does not name it, or when there was no reply. */
  stage: SmtpStage | null;
}

export function attemptBasis(end: AttemptResult): BounceBasis {
  if (end.kind !== 'refused') return { rule: null, stage: null };
  return { rule: findRule(end.reply, end.stage).rule, stage: end.stage };
}

export function reportBasis(failure: FailureReport): BounceBasis {
  return { rule: reportRule(failure).rule, stage: failure.stage };
}

function classifyRefusal(end: SmtpRejection, context: AttemptContext): Verdict {
  const { relay, cycleAgeMs = 0 } = context;
  // A relay that rejects our credentials says nothing about the recipient. The operator must fix
  // it.
  if (end.stage === 'auth') return deferred('relaying_denied', 'relayPassword');
  const match = findRule(end.reply, end.stage);
  if (relay && (match.reason === 'relaying_denied' || RELAYING_REFUSED.test(end.reply.text)))
    return deferred('relaying_denied', 'relayPassword');
  // A greeting is about this server's address and not about the message. Many blocks are lifted
  // within hours, and a bounce of all mail of that time would be worse than a delay. RFC 7504: 521
  // means that the host never accepts mail.
  if (end.stage === 'greeting' && end.reply.code !== 521 && cycleAgeMs < REFUSED_GREETING_RETRY_MS)
    return deferred(match.reason, match.explanationKey);
  // RFC 5321 section 4.2.1: the first digit alone decides whether to retry.
  return end.reply.code >= 500
    ? bounced(match.reason, match.explanationKey)
    : deferred(match.reason, match.explanationKey);
}

/** How long a message is tried again after its receiver greeted this server with a rejection. */
const REFUSED_GREETING_RETRY_MS = 4 * 3_600_000;

/** OpenSMTPD uses this text both for unknown recipients and for those it may not relay to. */
const RELAYING_REFUSED = /^Invalid recipient\b/;

function classifyConnectionError(end: SmtpError, { relay, recipient }: AttemptContext): Verdict {
  // The receiver may have the message. A retry may duplicate it and giving up may lose it; losing
  // mail is worse.
  const ambiguous = end.afterFinalDot ? 'ambiguous' : undefined;
  switch (end.kind) {
    case 'connection_refused':
    case 'network_unreachable':
      return deferred('network_unreachable', relay ? 'noRelay' : undefined);
    case 'connection_lost':
    case 'aborted':
      return deferred('connection_lost', ambiguous);
    case 'timed_out':
      return deferred('timed_out', ambiguous);
    case 'protocol_error':
      return deferred('protocol_error', ambiguous);
    // RFC 8461 section 5 and RFC 7672 section 2.2: broken TLS is treated like an unreachable
    // server.
    case 'tls_not_offered':
      return deferred('tls_required');
    case 'tls_failed':
      return deferred('tls_failed');
    case 'certificate_rejected':
      return deferred('tls_failed', 'certificate');
    case 'auth_not_offered':
    case 'auth_needs_tls':
      return deferred('relaying_denied', 'relayPassword');
    // RFC 6531 section 3.2: the message must not be rewritten for a receiver without SMTPUTF8.
    case 'smtputf8_unsupported':
      return isAscii(recipient)
        ? bounced('smtputf8_unsupported', 'utf8Header')
        : bounced('smtputf8_unsupported');
    case 'eightbit_unsupported':
      return bounced('protocol_error', 'eightBit');
    case 'message_too_large':
      return relay ? bounced('message_too_large', 'relayTooLarge') : bounced('message_too_large');
    case 'malformed_message':
      return {
        kind: 'failed',
        reason: 'malformed_message',
        explanation: explain('malformed_message', 'failed'),
      };
    default:
      return unreachable(end.kind);
  }
}

function isAscii(address: string | undefined): boolean {
  return address !== undefined && /^[\x20-\x7e]*$/.test(address);
}

/** Only hard bounces suppress an address: the address itself must be the problem. */
export const BOUNCE_CLASSES: Record<BounceReason, Bounce['class']> = {
  unknown_mailbox: 'hard',
  mailbox_disabled: 'hard',
  unknown_domain: 'hard',
  blocked_reputation: 'block',
  blocked_policy: 'block',
  authentication_failed: 'block',
  content_rejected: 'block',
  rate_limited: 'block',
  mailbox_full: 'soft',
  message_too_large: 'soft',
  greylisted: 'soft',
  relaying_denied: 'soft',
  network_unreachable: 'soft',
  connection_lost: 'soft',
  timed_out: 'soft',
  tls_required: 'soft',
  tls_failed: 'soft',
  smtputf8_unsupported: 'soft',
  protocol_error: 'soft',
  unknown: 'soft',
};

function bounced(
  reason: BounceReason,
  explanationKey?: RuleMatch['explanationKey'],
  class_?: Bounce['class'],
): Verdict {
  return { kind: 'bounced', bounce: bounceFor(reason, explanationKey, class_) };
}

function bounceFor(
  reason: BounceReason,
  explanationKey?: RuleMatch['explanationKey'],
  class_: Bounce['class'] = BOUNCE_CLASSES[reason],
): Bounce {
  return { class: class_, reason, explanation: explain(explanationKey ?? reason, 'bounced') };
}

function deferred(reason: BounceReason, explanationKey?: RuleMatch['explanationKey']): Verdict {
  const explanation = explain(explanationKey ?? reason, 'deferred');
  // A transient failure is never hard, even when its reason would be if it were permanent.
  const class_ = BOUNCE_CLASSES[reason] === 'hard' ? 'soft' : BOUNCE_CLASSES[reason];
  return { kind: 'deferred', bounce: { class: class_, reason, explanation } };
}
