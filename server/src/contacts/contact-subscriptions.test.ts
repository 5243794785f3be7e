import { expect, test } from 'vitest';
import type { Suppression } from '../suppressions/suppression-store.ts';
import { subscriptionErrors, subscriptionOf } from './contact-subscriptions.ts';
import type { SubscriptionChoice } from './subscription-store.ts';

/** A status follows from the suppression alone; the record adds when and how, if it agrees. */

const JANUARY = Date.UTC(2026, 0, 1);
const MARCH = Date.UTC(2026, 2, 1);

function choice(status: SubscriptionChoice['status']): SubscriptionChoice {
  return { emailKey: 'a@x.test', stream: 'news', status, changedAtMs: JANUARY, source: 'page' };
}

function stopped(reason: Suppression['reason']) {
  const entry = {
    ...{ key: 'a@x.test', stream: 'news', id: '', email: 'a@x.test', domain: null, reason },
    ...{ evidence: null, note: null, createdAtMs: MARCH, expiresAtMs: null },
  };
  return { entry, emailKey: 'a@x.test', isUnsubscribe: reason === 'unsubscribe' };
}

test.each([
  ['nothing is known', undefined, undefined, undefined],
  ['consent', choice('subscribed'), undefined, ['subscribed', JANUARY, 'page']],
  ['left', choice('unsubscribed'), stopped('unsubscribe'), ['unsubscribed', JANUARY, 'page']],
  ['left without a record', undefined, stopped('unsubscribe'), ['unsubscribed', MARCH, null]],
  ['a complaint', choice('subscribed'), stopped('complaint'), ['unsubscribed', MARCH, 'complaint']],
  ['stopped by the sender', choice('subscribed'), stopped('manual'), ['unsubscribed', MARCH, null]],
  ['a suppression that was deleted', choice('unsubscribed'), undefined, undefined],
] as const)('%s', (_name, recorded, suppression, wanted) => {
  const found = subscriptionOf('news', recorded, suppression);
  expect(found && [found.status, found.changedAtMs, found.source]).toEqual(wanted);
});

test('only subscription streams and times in the past can be set', () => {
  const known = new Set(['news']);
  const errorsOf = (stream: string, changedAtMs: number | null) =>
    subscriptionErrors([{ stream, status: 'subscribed', changedAtMs }], known, JANUARY).map(
      ({ pointer, code }) => `${pointer} ${code}`,
    );
  expect(errorsOf('news', null)).toEqual([]);
  expect(errorsOf('news', JANUARY)).toEqual([]);
  expect(errorsOf('news', MARCH)).toEqual(['/subscriptions/news/changed_at invalid_time']);
  expect(errorsOf('receipts', null)).toEqual(['/subscriptions/receipts stream_not_found']);
});
