import { expect, test } from 'vitest';
import { didYouMean } from './did-you-mean.ts';

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
  ['shceduledAtt', 'scheduled_at'],
  ['txt', 'text'],
])('%s suggests %s', (given, meant) => {
  expect(didYouMean(given, FIELDS)).toBe(meant);
});

test.each(['', 'c', 'ccc', 'body', 'attachment', 'sbjct', 'x'.repeat(65)])(
  '%s suggests nothing',
  (given) => {
    expect(didYouMean(given, FIELDS)).toBeUndefined();
  },
);

test('two equally close names suggest nothing', () => {
  expect(didYouMean('opens', ['open', 'opened', 'openx'])).toBeUndefined();
  expect(didYouMean('fro', ['for', 'fry'])).toBeUndefined();
  expect(didYouMean('replyTo', ['reply_to', 'replyto'])).toBeUndefined();
});

test('the closest name wins over others within the limit', () => {
  expect(didYouMean('reply_tos', ['reply_two', 'reply_to', 'reply_toss'])).toBeUndefined();
  expect(didYouMean('subjectline', ['subject_lane', 'sub_ject_lyn', 'subjectline_'])).toBe(
    'subjectline_',
  );
});
