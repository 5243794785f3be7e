import { describe, expect, test } from 'vitest';
import type { DomainStatus } from './domain.ts';
import {
  absentRecords,
  nextCheckAtMs,
  nextDomainStatus,
  sendingStopsAtMs,
} from './domain-status.ts';
import type { RecordState } from './record-states.ts';

// Goal: how record states determine the status of a domain, and when it is checked again. Method: a
// domain with an ownership record, a current and a next key, each in a given state.

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const NOW_MS = 100 * DAY_MS;
const GRACE_MS = 72 * HOUR_MS;

type State = 'found' | 'missing' | 'wrong' | 'lookup_failed' | 'never published';

function record(
  slot: RecordState['slot'],
  state: State,
  absentSinceMs: number = NOW_MS,
): RecordState {
  const status = state === 'never published' ? 'missing' : state;
  const isAbsent = status === 'missing' || status === 'wrong';
  return {
    purpose: slot === null ? 'ownership' : 'dkim',
    type: 'TXT',
    name: `${slot}.example.test`,
    value: '',
    required: true,
    explanation: '',
    slot,
    status,
    found: [],
    mistakes: [],
    lastKnown: status === 'lookup_failed' ? 'found' : status,
    everFound: state !== 'never published',
    absentSinceMs: isAbsent ? absentSinceMs : null,
  };
}

function domain(status: DomainStatus, trusted = false) {
  const verifiedAtMs = status === 'pending' ? null : 0;
  return { status, trusted, verifiedAtMs, createdAtMs: 0 };
}

const nextStatus = (status: DomainStatus, ...records: RecordState[]): DomainStatus =>
  nextDomainStatus(domain(status), records, NOW_MS, GRACE_MS);

describe('a domain', () => {
  test.each(['pending', 'verified', 'degraded', 'failed'] as const)(
    'that was %s is verified when every record is found',
    (status) => {
      expect(nextStatus(status, record(null, 'found'), record('next', 'found'))).toBe('verified');
    },
  );

  test.each(['pending', 'verified', 'degraded', 'failed'] as const)(
    'stays %s when the other lookups failed',
    (status) => {
      expect(nextStatus(status, record(null, 'lookup_failed'), record('current', 'found'))).toBe(
        status,
      );
    },
  );

  test.each([
    ['pending', 'pending'],
    ['verified', 'degraded'],
    ['degraded', 'degraded'],
    ['failed', 'failed'],
  ] as const)('that was %s is %s when a record has just disappeared', (before, after) => {
    expect(nextStatus(before, record(null, 'missing'), record('current', 'found'))).toBe(after);
    expect(nextStatus(before, record(null, 'wrong'), record('current', 'lookup_failed'))).toBe(
      after,
    );
  });

  test('fails when a record was missing for the whole grace period, not before', () => {
    const since = (ms: number) => record('current', 'missing', NOW_MS - ms);
    expect(nextStatus('degraded', since(GRACE_MS - 1))).toBe('degraded');
    expect(nextStatus('degraded', since(GRACE_MS))).toBe('failed');
  });

  test('does not fail because of a failed lookup', () => {
    const unsure = { ...record(null, 'lookup_failed'), absentSinceMs: 0 };
    expect(nextStatus('degraded', unsure, record('current', 'missing'))).toBe('degraded');
  });

  test('does not fail because of its next key', () => {
    expect(nextStatus('degraded', record('next', 'missing', 0))).toBe('degraded');
    expect(sendingStopsAtMs(domain('degraded'), [record('next', 'missing')], GRACE_MS)).toBeNull();
  });

  test('needs its first next key, but not a later one before it was published', () => {
    const fresh = record('next', 'never published');
    expect(nextStatus('pending', record(null, 'found'), fresh)).toBe('pending');
    expect(nextStatus('verified', record(null, 'found'), fresh)).toBe('verified');
    expect(nextStatus('degraded', record(null, 'found'), fresh)).toBe('verified');
    expect(absentRecords(domain('verified'), [fresh])).toEqual([]);
  });

  test('that is trusted is verified in any case', () => {
    const records = [record(null, 'missing', 0)];
    expect(nextDomainStatus(domain('pending', true), records, NOW_MS, GRACE_MS)).toBe('verified');
  });

  test('does not need optional records', () => {
    expect(nextStatus('verified', { ...record(null, 'missing', 0), required: false })).toBe(
      'verified',
    );
  });
});

describe('the next check', () => {
  const options = { nowMs: NOW_MS, graceMs: GRACE_MS, jitter: 0 };
  const after = (status: DomainStatus, ...records: RecordState[]): number =>
    (nextCheckAtMs(domain(status), records, options) ?? Number.NaN) - NOW_MS;

  test.each([
    [0, MINUTE_MS],
    [20 * MINUTE_MS, MINUTE_MS],
    [10 * HOUR_MS, HOUR_MS / 2],
    [10 * DAY_MS, DAY_MS / 2],
    [90 * DAY_MS, DAY_MS],
  ])('of a pending domain that is %i ms old is %i ms later', (ageMs, laterMs) => {
    const young = { ...domain('pending'), createdAtMs: NOW_MS - ageMs };
    expect(nextCheckAtMs(young, [], options)).toBe(NOW_MS + laterMs);
  });

  test('of a verified or failed domain is at most a day later', () => {
    expect(after('verified', record(null, 'found'))).toBe(DAY_MS);
    expect(after('failed', record(null, 'missing'))).toBe(DAY_MS);
    const jitter = nextCheckAtMs(domain('verified'), [], { ...options, jitter: 1 });
    expect(jitter).toBe(NOW_MS + 0.9 * DAY_MS);
  });

  test('of a domain with an unpublished or unknown record is an hour later', () => {
    expect(after('verified', record('next', 'never published'))).toBe(HOUR_MS);
    expect(after('verified', record(null, 'lookup_failed'))).toBe(HOUR_MS);
    expect(after('degraded', record(null, 'missing'))).toBe(HOUR_MS);
  });

  test('of a degraded domain is no later than the end of its grace period', () => {
    const soon = record(null, 'missing', NOW_MS - GRACE_MS + 10 * MINUTE_MS);
    expect(after('degraded', soon)).toBe(10 * MINUTE_MS);
    expect(after('degraded', record(null, 'missing', 0))).toBe(MINUTE_MS);
  });

  test('of a trusted domain never happens', () => {
    expect(nextCheckAtMs(domain('verified', true), [], options)).toBeNull();
  });
});
