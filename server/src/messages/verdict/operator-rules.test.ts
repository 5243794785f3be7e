import { afterEach, describe, expect, test } from 'vitest';
import { smtpRejection } from '../../mail/smtp-client/smtp-results.ts';
import { countChoices, operatorRuleErrors } from './operator-rules.ts';
import { reviewSuppression } from './review-suppression.ts';
import { attemptBasis, classifyAttempt, classifyReport, reportBasis } from './verdict.ts';
import { setOperatorRules } from './verdict-rules.ts';

/** Goal: an operator can add rules by file, and review what changed rules have suppressed. */

const RULE = {
  id: 'operator.leaver',
  reason: 'mailbox_disabled',
  stages: ['rcpt'],
  text: ['has left the company'],
  source: 'example.com',
  examples: ['550 x@example.com has left the company'],
} as const;
const rules = (change: object) => ({ rules: [{ ...RULE, ...change }] });

test.each([
  ['not an object', [], /^Must be an object with the field "rules"/],
  ['an unknown field', { ...rules({}), about_sender: [] }, /Unknown field "about_sender"/],
  ['no rules', {}, /rules must be an array/],
  ['a wrong reason', rules({ reason: 'left' }), /^Rule "operator.leaver": reason must be one of/],
  ['a wrong stage', rules({ stages: ['quit'] }), /^Rule "operator.leaver": stages must be/],
  ['a shipped id', rules({ id: 'rate.text' }), /^Rule "rate.text": the id belongs to a shipped/],
  [
    'an example of another reply',
    rules({ examples: ['550 No such user'] }),
    /^Rule "operator.leaver": examples has a reply that the rule does not match: 550 No such user/,
  ],
  ['an unbounded repetition', rules({ text: ['a+b'] }), /the pattern a\+b must not use/],
  [
    'exponential options',
    rules({ text: ['a?'.repeat(30)] }),
    /^Rule "operator.leaver": text has a pattern with too many alternatives/,
  ],
  [
    'exponential alternatives',
    rules({ unless: ['(a|a)'.repeat(30)] }),
    /^Rule "operator.leaver": unless has a pattern with too many alternatives/,
  ],
])('a file with %s is rejected', (_, content, error) => {
  expect(operatorRuleErrors(content).join(' ')).toMatch(error);
});

test('a valid file is accepted', () => {
  expect(operatorRuleErrors(rules({}))).toEqual([]);
});

test('the choices of a pattern are counted', () => {
  expect(countChoices('a(b|c)?d')).toBe(3);
  expect(countChoices('x.{0,9}y|[?*|(]z')).toBe(11);
  expect(countChoices('(?<!ip )(?:a|b|\\()(?<name>c|d)')).toBe(6);
});

describe('with rules of the operator', () => {
  afterEach(() => setOperatorRules([]));
  const reply = { code: 550, enhanced: null, text: '<x@example.com> has left the company' };
  const refused = smtpRejection('rcpt', reply);
  const failure = { code: 550, status: null, text: reply.text, stage: null };
  const smtp = { ...reply, mx: null, ip: null, tls: null };

  test('they come before the shipped rules', () => {
    expect(classifyAttempt(refused)).toMatchObject({ bounce: { class: 'soft' } });
    setOperatorRules(rules({}).rules as never);
    expect(classifyAttempt(refused)).toMatchObject({
      kind: 'bounced',
      bounce: { class: 'hard', reason: 'mailbox_disabled' },
    });
    expect(attemptBasis(refused)).toEqual({ rule: 'operator.leaver', stage: 'rcpt' });
    expect(classifyReport(failure)).toMatchObject({ class: 'hard' });
    expect(reportBasis(failure)).toEqual({ rule: 'operator.leaver', stage: null });
  });

  test('evidence is classified again by the current rules', () => {
    setOperatorRules(rules({}).rules as never);
    const report = { id: 'r', reported_by: null };
    const direct = { message_id: 'msg_1', smtp, ...attemptBasis(refused) };
    const later = { message_id: 'msg_1', smtp, ...reportBasis(failure), report };
    const kept = { suppresses: true, reason: 'mailbox_disabled', rule: 'operator.leaver' };
    expect(reviewSuppression(direct)).toEqual(kept);
    expect(reviewSuppression(later)).toEqual(kept);
    setOperatorRules([]);
    const outdated = { suppresses: false, reason: 'unknown', rule: null };
    expect(reviewSuppression(direct)).toEqual(outdated);
    expect(reviewSuppression(later)).toEqual(outdated);
  });

  test('evidence without a reply is not reviewed', () => {
    expect(reviewSuppression(null)).toBeUndefined();
    expect(reviewSuppression({ message_id: 'msg_1' })).toBeUndefined();
    const dns = { ...smtp, code: null, enhanced: '5.1.2', text: 'The domain does not exist.' };
    const evidence = { message_id: 'msg_1', smtp: dns, rule: null, stage: null };
    expect(reviewSuppression(evidence)).toBeUndefined();
  });
});
