import { expect, test } from 'vitest';
import { type DeliveryStatus, isPending, messageStatus } from './message-status.ts';

test.each<[DeliveryStatus[], string]>([
  [['delivered'], 'delivered'],
  [['delivered', 'delivered'], 'delivered'],
  [['bounced', 'bounced'], 'bounced'],
  [['delivered', 'bounced'], 'partial'],
  [['delivered', 'suppressed'], 'partial'],
  [['delivered', 'queued'], 'queued'],
  [['queued', 'deferred', 'bounced'], 'deferred'],
  [['deferred', 'scheduled'], 'scheduled'],
  [[], 'failed'],
])('%o is %s', (statuses, status) => {
  expect(messageStatus(statuses)).toBe(status);
});

test('scheduled, queued and deferred deliveries are pending, all others final', () => {
  expect(['scheduled', 'queued', 'deferred'].every(isPending)).toBe(true);
  expect(['delivered', 'bounced', 'expired', 'failed', 'cancelled'].some(isPending)).toBe(false);
});
