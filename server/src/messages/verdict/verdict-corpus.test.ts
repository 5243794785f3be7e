import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ReplyParser, type SmtpReply } from '../../mail/smtp-client/reply-parser.ts';
import { type SmtpStage, smtpRejection } from '../../mail/smtp-client/smtp-results.ts';
import shipped from './bounce-rules.json' with { type: 'json' };
import { type BounceRule, bounceRuleErrors } from './bounce-rules.ts';
import { classifyAttempt } from './verdict.ts';
import { findRule } from './verdict-rules.ts';

/**
 * Checks the rules against real replies: each rule decides its own examples, and a corpus of replies
 * with the expected result measures wrong suppressions, missed suppressions and misleading reasons.
 */

interface CorpusEntry {
  provider: string;
  stage: SmtpStage;
  reply: string;
  /** Whether the address must be suppressed. */
  suppress: boolean;
  /** Absent where several reasons describe the reply equally well. */
  reason?: string;
}

function parseReply(lines: string): SmtpReply {
  const parser = new ReplyParser();
  parser.push(Buffer.from(`${lines.replaceAll('\n', '\r\n')}\r\n`));
  const received = parser.next();
  if (!received) throw new Error(`Not a reply: ${lines}`);
  return received.reply;
}

const EXAMPLES = (shipped.rules as BounceRule[]).flatMap(({ id, stages, examples }) =>
  examples.map((example) => ({ id, stage: stages?.[0] ?? ('rcpt' as const), example })),
);

test.each(EXAMPLES)('rule $id decides "$example"', ({ id, stage, example }) => {
  expect(findRule(parseReply(example), stage).rule).toBe(id);
});

test('the corpus has no wrong suppressions, and no more errors than before', () => {
  const file = new URL('../../../test/fixtures/replies/smtp-replies.json', import.meta.url);
  const corpus = JSON.parse(readFileSync(file, 'utf8')) as CorpusEntry[];
  const wrong: string[] = [];
  const missed: string[] = [];
  const misleading: string[] = [];
  for (const { provider, stage, reply: lines, suppress, reason } of corpus) {
    const reply = parseReply(lines);
    const verdict = classifyAttempt(smtpRejection(stage, reply));
    if (verdict.kind !== 'bounced' && verdict.kind !== 'deferred') throw new Error(lines);
    const suppresses = verdict.kind === 'bounced' && verdict.bounce.class === 'hard';
    const entry = `${provider}, ${stage}: ${lines} -> ${verdict.bounce.reason} (${findRule(reply, stage).rule})`;
    if (suppresses && !suppress) wrong.push(entry);
    else if (suppress && !suppresses) missed.push(entry);
    else if (reason !== undefined && verdict.bounce.reason !== reason) misleading.push(entry);
  }
  console.log(
    `${corpus.length} replies: ${wrong.length} wrong suppressions, ${missed.length} missed, ${misleading.length} misleading reasons`,
  );
  expect(corpus.length).toBeGreaterThan(250);
  expect({ wrong, missed, misleading }).toEqual({ wrong: [], missed: [], misleading: [] });
});

const VALID = {
  id: 'x.1',
  reason: 'unknown_mailbox',
  text: ['gone for good'],
  source: 'x',
  examples: ['550 gone for good'],
};

test.each([
  ['an unknown reason', { ...VALID, reason: 'gone' }, /^Rule "x.1": reason must be one of/],
  ['an unknown field', { ...VALID, pattern: 'x' }, /unknown field "pattern"/],
  ['no condition', { ...VALID, text: undefined }, /needs at least one of/],
  ['a broken pattern', { ...VALID, text: ['('] }, /is not a regular expression/],
  ['nested quantifiers', { ...VALID, text: ['(a+)+$'] }, /must not use \*, \+/],
  ['a repeated group', { ...VALID, text: ['(a|aa){1,30}$'] }, /must not repeat a group/],
  ['a back-reference', { ...VALID, text: ['(a)\\1'] }, /back-references/],
  ['a large repetition', { ...VALID, text: ['a{1,5000}b'] }, /more than 300 times/],
  ['many repetitions', { ...VALID, text: ['.{0,9}a.{0,9}b.{0,9}c'] }, /more than 2 repetitions/],
  ['a code that is not an error', { ...VALID, codes: [250] }, /codes must be/],
  ['an enhanced code with its class', { ...VALID, details: ['5.1.1'] }, /details must be/],
  ['no example', { ...VALID, examples: [] }, /examples must be/],
])('a rule with %s is rejected', (_, rule, error) => {
  expect(bounceRuleErrors([rule]).join(' ')).toMatch(error);
});

test('a valid rule is accepted, and only once', () => {
  expect(bounceRuleErrors([VALID])).toEqual([]);
  expect(bounceRuleErrors([VALID, VALID])).toEqual(['Rule "x.1": the id is used twice.']);
});
