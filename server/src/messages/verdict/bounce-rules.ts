import { BOUNCE_REASONS, type BounceReason } from '../../events/event-types.ts';
import type { SmtpReply } from '../../mail/smtp-client/reply-parser.ts';
import type { SmtpStage } from '../../mail/smtp-client/smtp-results.ts';
import { EXPLANATION_KEYS, type ExplanationKey } from './bounce-explanations.ts';

/** One rule of bounce-rules.json. All conditions that are present must hold. */
export interface BounceRule {
  id: string;
  reason: BounceReason;
  /** A more specific explanation than that of the reason. */
  explanation?: ExplanationKey;
  provider?: string;
  stages?: SmtpStage[];
  codes?: number[];
  /**
   * Enhanced codes without their class, because 4.1.1 and 5.1.1 mean the same, temporarily or
   * permanently: `1.1`, `1.*`, `7.606-649`, or `none` for a reply without one.
   */
  details?: string[];
  /** Case-insensitive regular expressions, of which one must match. */
  text?: string[];
  /** Case-insensitive regular expressions, of which none may match. */
  unless?: string[];
  /** Where the meaning is documented or which servers reply like this. */
  source: string;
  /** Replies as received. The first stage of the rule applies, or RCPT. */
  examples: string[];
}

/** A rule in the form in which it is matched. */
export interface CompiledRule extends Pick<BounceRule, 'id' | 'reason'> {
  explanation: ExplanationKey | undefined;
  matches: (reply: RuleInput) => boolean;
}

export interface RuleInput {
  reply: SmtpReply;
  stage: SmtpStage;
  /** The text without names that the server quotes. */
  text: string;
}

export const STAGES = [
  'connect',
  'greeting',
  'ehlo',
  'starttls',
  'auth',
  'mail',
  'rcpt',
  'data',
  'body',
] as const satisfies readonly SmtpStage[];

/** Reasons that concern the sending address: the provider wants less mail from it, or none. */
export const SENDER_REASONS: ReadonlySet<BounceReason> = new Set([
  'rate_limited',
  'blocked_reputation',
]);

/** Reasons that suppress the address when the rejection is permanent. */
export const SUPPRESSING_REASONS: ReadonlySet<BounceReason> = new Set([
  'unknown_mailbox',
  'mailbox_disabled',
  'unknown_domain',
]);

/** Before RCPT the receiver does not know the recipient, so it cannot mean them. */
const RECIPIENT_STAGES: readonly SmtpStage[] = ['rcpt', 'data', 'body'];

export function compileRule(rule: BounceRule): CompiledRule {
  const text = compilePatterns(rule.text);
  const unless = compilePatterns(rule.unless);
  const details = rule.details?.map(parseDetail);
  const stages =
    rule.stages ?? (SUPPRESSING_REASONS.has(rule.reason) ? RECIPIENT_STAGES : undefined);
  return {
    id: rule.id,
    reason: rule.reason,
    explanation: rule.explanation,
    matches: (input) => {
      const { code, enhanced } = input.reply;
      if (stages && !stages.includes(input.stage)) return false;
      if (rule.codes && !rule.codes.includes(code)) return false;
      if (details && !details.some((matches) => matches(enhanced?.slice(2) ?? ''))) return false;
      if (text && !text.test(input.text)) return false;
      return !unless?.test(input.text);
    },
  };
}

export function compilePatterns(patterns: readonly string[] | undefined): RegExp | undefined {
  return patterns && new RegExp(patterns.map((one) => `(?:${one})`).join('|'), 'i');
}

const DETAIL = /^(?:none|(\d)\.(?:(\*)|(\d{1,3})(?:-(\d{1,3}))?))$/;

function parseDetail(detail: string): (actual: string) => boolean {
  const [, subject, any, first, last] = DETAIL.exec(detail) ?? [];
  if (subject === undefined) return (actual) => actual === '';
  if (any) return (actual) => actual.startsWith(`${subject}.`);
  return (actual) => {
    const [actualSubject, number = ''] = actual.split('.', 2);
    if (actualSubject !== subject || number === '') return false;
    return Number(number) >= Number(first) && Number(number) <= Number(last ?? first);
  };
}

/** The errors in a list of rules; empty when it is valid. */
export function bounceRuleErrors(rules: unknown): string[] {
  if (!Array.isArray(rules)) return ['rules must be an array.'];
  if (rules.length > RULES_MAX) return [`There must be at most ${RULES_MAX} rules.`];
  const ids = new Set<unknown>();
  return rules.flatMap((rule: unknown, index) => {
    if (typeof rule !== 'object' || rule === null) return [`rules[${index}] must be an object.`];
    const { id } = rule as { id?: unknown };
    const at = typeof id === 'string' ? `Rule "${id}"` : `rules[${index}]`;
    const errors = fieldErrors(rule as Record<string, unknown>);
    if (ids.has(id)) errors.push('the id is used twice');
    ids.add(id);
    return errors.map((error) => `${at}: ${error}.`);
  });
}

const RULES_MAX = 1000;

type FieldCheck = [isValid: (value: unknown) => boolean, expected: string];

const isText = (value: unknown) => typeof value === 'string' && /^.{1,500}$/s.test(value);
const isOneOf = (values: readonly unknown[]) => (value: unknown) => values.includes(value);
const isListOf = (isValid: (value: unknown) => boolean) => (value: unknown) =>
  Array.isArray(value) && value.length > 0 && value.every(isValid);
const optional = (isValid: (value: unknown) => boolean) => (value: unknown) =>
  value === undefined || isValid(value);

const FIELDS: Record<keyof BounceRule, FieldCheck> = {
  id: [
    (value) => typeof value === 'string' && /^[a-z0-9][a-z0-9.-]{0,63}$/.test(value),
    'lower-case letters, digits, dots and hyphens, at most 64',
  ],
  reason: [isOneOf(BOUNCE_REASONS), `one of ${BOUNCE_REASONS.join(', ')}`],
  explanation: [optional(isOneOf(EXPLANATION_KEYS)), `one of ${EXPLANATION_KEYS.join(', ')}`],
  provider: [optional(isText), 'text'],
  stages: [optional(isListOf(isOneOf(STAGES))), `a list of ${STAGES.join(', ')}`],
  codes: [optional(isListOf(isReplyCode)), 'a list of reply codes from 400 to 599'],
  details: [
    optional(isListOf((value) => typeof value === 'string' && DETAIL.test(value))),
    'a list such as "1.1", "1.*", "7.606-649" or "none"',
  ],
  text: [optional(isListOf(isText)), 'a list of regular expressions of at most 500 characters'],
  unless: [optional(isListOf(isText)), 'a list of regular expressions of at most 500 characters'],
  source: [isText, 'text'],
  examples: [isListOf(isReply), 'a list of replies such as "550 5.1.1 User unknown"'],
};

function fieldErrors(rule: Record<string, unknown>): string[] {
  const errors = Object.keys(rule)
    .filter((name) => !(name in FIELDS))
    .map((name) => `unknown field "${name}"`);
  for (const [name, [isValid, expected]] of Object.entries(FIELDS)) {
    if (!isValid(rule[name])) errors.push(`${name} must be ${expected}`);
  }
  if (errors.length > 0) return errors;
  const { codes, details, text, stages, unless } = rule as unknown as BounceRule;
  if (!codes && !details && !text && !stages)
    errors.push('needs at least one of stages, codes, details and text');
  for (const pattern of [...(text ?? []), ...(unless ?? [])]) {
    const error = patternError(pattern);
    if (error) errors.push(`the pattern ${pattern} ${error}`);
  }
  return errors;
}

function isReplyCode(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 400 && Number(value) <= 599;
}

function isReply(value: unknown): boolean {
  return typeof value === 'string' && /^[45]\d\d[ -].{1,1000}$/s.test(value);
}

/**
 * Replies are untrusted input, so a pattern must run in about linear time. Backtracking multiplies
 * with every unbounded repetition and explodes when one is inside another, so there may be none:
 * `.{0,40}` says the same.
 */
function patternError(pattern: string): string | undefined {
  try {
    new RegExp(pattern, 'i');
  } catch (error) {
    return `is not a regular expression: ${error instanceof Error ? error.message : ''}`;
  }
  const bare = pattern.replaceAll(/\\./gs, 'x').replaceAll(/\[[^\]]*\]/g, 'x');
  if (/[*+]|\{\d+,\}/.test(bare)) return 'must not use *, + or {n,}; use a range such as {0,40}';
  if (/\\[1-9k]/.test(pattern)) return 'must not use back-references';
  const ranges = [...bare.matchAll(/\{(?:\d+,)?(\d+)\}/g)].map(([, most]) => Number(most));
  if (ranges.some((most) => most > REPETITIONS_MAX))
    return `must not repeat more than ${REPETITIONS_MAX} times`;
  if (/\)\{|\)\?\{/.test(bare)) return 'must not repeat a group';
  if (ranges.length > REPETITIONS_PER_PATTERN_MAX)
    return `must not have more than ${REPETITIONS_PER_PATTERN_MAX} repetitions`;
  return undefined;
}

const REPETITIONS_MAX = 300;
const REPETITIONS_PER_PATTERN_MAX = 2;
