import { expect, test } from 'vitest';
import { likelyMeant } from './did-you-mean.ts';

const FIELDS = ['to', 'cc', 'bcc', 'from', 'reply_to', 'subject', 'html', 'text', 'scheduled_at'];

test.each([
  ['replyTo', 'reply_to'],
  ['reply-to', 'reply_to'],
  ['From', 'from'],
  ['Cc', 'cc'],
  ['scheduledAt', 'scheduled_at'],
  ['subjct', 'subject'],
  ['subjectt', 'subject'],
  ['sunject', 'subject'],
  ['sbuject', 'subject'],
  ['htlm', 'html'],
])('%s is meant for %s', (given, meant) => {
  expect(likelyMeant(given, FIELDS)).toBe(meant);
});

test.each(['', 'c', 'ccc', 'body', 'attachment', 'sbjct', 'x'.repeat(65)])(
  '%s is near nothing',
  (given) => {
    expect(likelyMeant(given, FIELDS)).toBeUndefined();
  },
);

test('of two that are as near neither is told', () => {
  expect(likelyMeant('opens', ['open', 'opened', 'openx'])).toBeUndefined();
  expect(likelyMeant('replyTo', ['reply_to', 'replyto'])).toBeUndefined();
});
