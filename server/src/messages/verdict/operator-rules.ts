import { readFileSync } from 'node:fs';
import { StorageStartError } from '../../db/connections/database-errors.ts';
import { ReplyParser, type SmtpReply } from '../../mail/smtp-client/reply-parser.ts';
import { type BounceRule, bounceRuleErrors, compileRule } from './bounce-rules.ts';
import { SHIPPED_RULE_IDS } from './verdict-rules.ts';

/**
 * Reads the operator's rules from a JSON file: `{ "rules": [...] }`, in the format of
 * bounce-rules.json. Throws with all errors, each naming the rule and the field.
 */
export function readOperatorRules(file: string | undefined): BounceRule[] {
  if (file === undefined) return [];
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    const reason = error instanceof Error ? error.message : '';
    throw new StorageStartError(`BOUNCE_RULES_FILE: ${file} cannot be read as JSON: ${reason}`);
  }
  const errors = operatorRuleErrors(content);
  if (errors.length > 0) throw new StorageStartError(`BOUNCE_RULES_FILE: ${errors.join(' ')}`);
  return (content as { rules: BounceRule[] }).rules;
}

/** The errors in an operator's file; empty when it is valid. */
export function operatorRuleErrors(content: unknown): string[] {
  if (typeof content !== 'object' || content === null || Array.isArray(content))
    return ['Must be an object with the field "rules".'];
  const { rules, ...rest } = content as { rules?: unknown };
  const unknown = Object.keys(rest).map((name) => `Unknown field "${name}".`);
  const errors = [...unknown, ...bounceRuleErrors(rules)];
  return errors.length > 0 ? errors : (rules as BounceRule[]).flatMap(errorsOfValidRule);
}

function errorsOfValidRule(rule: BounceRule): string[] {
  const errors: string[] = [];
  if (SHIPPED_RULE_IDS.has(rule.id)) errors.push('the id belongs to a shipped rule');
  for (const field of ['text', 'unless'] as const) {
    for (const pattern of rule[field] ?? []) {
      if (countChoices(pattern) > CHOICES_MAX)
        errors.push(`${field} has a pattern with too many alternatives: ${pattern}`);
    }
  }
  const { matches } = compileRule(rule);
  const stage = rule.stages?.[0] ?? 'rcpt';
  for (const example of errors.length > 0 ? [] : rule.examples) {
    const reply = parseReply(example);
    if (!reply || !matches({ reply, stage, text: reply.text }))
      errors.push(`examples has a reply that the rule does not match: ${example}`);
  }
  return errors.map((error) => `Rule "${rule.id}": ${error}.`);
}

function parseReply(lines: string): SmtpReply | undefined {
  const parser = new ReplyParser();
  parser.push(Buffer.from(`${lines.replaceAll('\n', '\r\n')}\r\n`));
  return parser.next()?.reply;
}

const CHOICES_MAX = 10_000;

/**
 * In how many ways a valid pattern can match at one position, at most: the alternatives of a group
 * add up, and what follows each other multiplies. Backtracking tries no more than that, so the
 * number bounds the time that a hostile reply can take.
 */
export function countChoices(pattern: string): number {
  const bare = pattern.replaceAll(/\\./gs, 'x').replaceAll(/\[[^\]]*\]/g, 'x');
  let at = 0;
  const alternatives = (): number => {
    let total = sequence();
    while (bare[at] === '|') {
      at += 1;
      total += sequence();
    }
    return total;
  };
  const sequence = (): number => {
    let product = 1;
    while (at < bare.length && bare[at] !== '|' && bare[at] !== ')') {
      product *= quantified(unit());
    }
    return product;
  };
  const unit = (): number => {
    const [opening] = /^\((?:\?(?:<?[=!]|:|<\w{1,50}>))?/.exec(bare.slice(at)) ?? [];
    at += opening?.length ?? 1;
    if (opening === undefined) return 1;
    const inner = alternatives();
    at += 1;
    return inner;
  };
  const quantified = (choices: number): number => {
    const [quantifier, most] = /^(?:\{(?:\d+,)?(\d+)\}|\?)\??/.exec(bare.slice(at)) ?? [];
    at += quantifier?.length ?? 0;
    if (quantifier === undefined) return choices;
    return most === undefined ? choices + 1 : choices * (Number(most) + 1);
  };
  return alternatives();
}
