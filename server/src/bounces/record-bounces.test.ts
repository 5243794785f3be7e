import { describe, expect, test } from 'vitest';
import type { DeliveryReport, ReportedRecipient } from '../mail/reports/dsn.ts';
import type { DeliveryStatus } from '../messages/message-status.ts';
import { ERASED_ADDRESS } from '../suppressions/erased-address.ts';
import { bounceOutcome, reportedFailure } from './record-bounces.ts';
import type { ReportedDelivery } from './report-store.ts';

function delivery(
  status: DeliveryStatus,
  change: Partial<ReportedDelivery> = {},
): ReportedDelivery {
  return {
    ordinal: 0,
    recipient: 'Jane@example.com',
    recipientKey: 'jane@example.com',
    status,
    leased: false,
    attempts: 1,
    smtp: null,
    stream: 'transactional',
    metadata: {},
    tags: [],
    ...change,
  };
}

describe('a failure report', () => {
  test.each<[DeliveryStatus, Partial<ReportedDelivery>, string]>([
    ['delivered', {}, 'bounced'],
    ['deferred', {}, 'bounced'],
    ['deferred', { leased: true }, 'retry_later'],
    ['queued', { leased: true, attempts: 0 }, 'retry_later'],
    ['queued', { attempts: 1 }, 'retry_later'],
    ['queued', { attempts: 0 }, 'not_applicable'],
    ['scheduled', { attempts: 0 }, 'not_applicable'],
    ['bounced', {}, 'not_applicable'],
    ['failed', {}, 'not_applicable'],
    ['expired', {}, 'not_applicable'],
    ['cancelled', {}, 'not_applicable'],
    ['suppressed', {}, 'not_applicable'],
  ])('for a delivery that is %s (%o) is %s', (status, change, outcome) => {
    expect(bounceOutcome(delivery(status, change))).toBe(outcome);
  });

  test('for an erased address changes nothing', () => {
    const erased = delivery('delivered', { recipientKey: ERASED_ADDRESS });
    expect(bounceOutcome(erased)).toBe('not_applicable');
  });
});

function recipient(action: string, address: string | null): ReportedRecipient {
  return {
    action,
    originalRecipient: null,
    finalRecipient: address,
    status: '5.1.1',
    code: 550,
    text: 'User unknown',
    remoteMta: null,
  } as ReportedRecipient;
}

function report(...recipients: ReportedRecipient[]): DeliveryReport {
  return { reportingMta: 'mx.example.org', recipients } as DeliveryReport;
}

describe('the failure of a delivery', () => {
  const jane = delivery('delivered');

  test('is the one reported for its recipient', () => {
    const own = recipient('failed', 'jane@example.com');
    expect(reportedFailure(jane, report(recipient('failed', 'joe@example.com'), own), false)).toBe(
      own,
    );
  });

  test('is not the failure of another recipient of a shared return path', () => {
    const others = report(recipient('failed', 'joe@example.com'));
    expect(reportedFailure(jane, others, false)).toBeUndefined();
  });

  test('may be reported for a forwarding address when the return path is its own', () => {
    const forwarded = recipient('failed', 'jane@elsewhere.example');
    expect(reportedFailure(jane, report(forwarded), true)).toBe(forwarded);
  });

  test('is not reported when our recipient got the message', () => {
    const mixed = report(
      recipient('relayed', 'jane@example.com'),
      recipient('failed', 'jane@elsewhere.example'),
    );
    expect(reportedFailure(jane, mixed, true)).toBeUndefined();
  });
});
