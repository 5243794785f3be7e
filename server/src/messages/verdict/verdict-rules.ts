import type { BounceReason } from '../../events/event-types.ts';
import { assert } from '../../lib/assert.ts';
import type { SmtpReply } from '../../mail/smtp-client/reply-parser.ts';
import type { SmtpRejection, SmtpStage } from '../../mail/smtp-client/smtp-results.ts';
import type { ExplanationKey } from './bounce-explanations.ts';
import shipped from './bounce-rules.json' with { type: 'json' };
import {
  type BounceRule,
  bounceRuleErrors,
  type CompiledRule,
  compilePatterns,
  compileRule,
  SUPPRESSING_REASONS,
} from './bounce-rules.ts';

/**
 * What receivers mean by their replies: the ordered list of bounce-rules.json, in which the first
 * matching rule wins. It starts with texts that are more specific than the code beside them (large
 * providers use 5.7.1 and 5.2.1 for a dozen situations). Enhanced codes follow (RFC 3463, the IANA
 * registry, and codes that Google and Microsoft added), then texts for receivers without enhanced
 * codes, then plain reply codes.
 *
 * A wrong suppression cuts off a good recipient, a missed one costs another bounce. Rules that
 * suppress therefore apply only where the receiver knows the recipient (after RCPT), and not to
 * texts that are about the sender.
 */
export interface RuleMatch {
  /** Null when no rule matched. */
  rule: string | null;
  reason: BounceReason;
  explanationKey?: ExplanationKey | undefined;
}

export function findRule(reply: SmtpReply, stage: SmtpStage): RuleMatch {
  const text = withoutQuotedNames(reply.text);
  const input = { reply, stage, text };
  let isAboutSender: boolean | undefined;
  for (const rule of rules) {
    if (!rule.matches(input)) continue;
    if (SUPPRESSING_REASONS.has(rule.reason)) {
      isAboutSender ??= ABOUT_SENDER.test(text.replaceAll(LINK, ''));
      if (isAboutSender) continue;
    }
    return { rule: rule.id, reason: rule.reason, explanationKey: rule.explanation };
  }
  return { rule: null, reason: 'unknown' };
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
/** Links to help pages contain the client's address, whatever the page is about. */
const LINK = /https?:\/\/\S{1,1000}/gi;

/**
 * Whether the receiver wants fewer messages or connections from us, whatever it thinks of this
 * message.
 */
export function isThrottling({ reply, stage }: SmtpRejection): boolean {
  if (reply.code === 421) return true;
  return reply.code < 500 && findRule(reply, stage).reason === 'rate_limited';
}

const ABOUT_SENDER = compilePatterns(shipped.about_sender) as RegExp;

const errors = bounceRuleErrors(shipped.rules);
assert(errors.length === 0, errors.join(' '));
const SHIPPED_RULES: readonly CompiledRule[] = (shipped.rules as BounceRule[]).map(compileRule);

/** Set once at startup in each thread, so a verdict depends on nothing else but the facts. */
let rules = SHIPPED_RULES;

/** Puts the operator's rules before the shipped ones. They must be valid. */
export function setOperatorRules(operators: readonly BounceRule[]): void {
  rules = [...operators.map(compileRule), ...SHIPPED_RULES];
}

export const SHIPPED_RULE_IDS: ReadonlySet<string> = new Set(SHIPPED_RULES.map(({ id }) => id));
