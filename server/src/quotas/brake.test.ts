import { expect, test } from 'vitest';
import {
  type BrakeCounts,
  type BrakeSettings,
  type BrakeState,
  brakeExplanation,
  decideBrake,
  effectiveQuotas,
  NO_POLICY,
  thresholdsOf,
} from './brake.ts';
import { NO_QUOTAS } from './quota.ts';

const SETTINGS: BrakeSettings = {
  slowBounceRate: 0.05,
  pauseBounceRate: 0.1,
  slowComplaintRate: 0.001,
  pauseComplaintRate: 0.003,
  windowMs: 86_400_000,
  recipientsMin: 100,
  slowedMessagesPerHour: 20,
  probationMs: 1_000,
  probationMessagesPerHour: 50,
};

const GOOD: BrakeCounts = { ended: 1_000, bounced: 10, delivered: 990, complained: 0 };

test.each<[string, Partial<BrakeCounts>, BrakeState | undefined, BrakeState | undefined]>([
  ['good mail', {}, undefined, undefined],
  ['bounces', { bounced: 50 }, undefined, 'slowed'],
  ['many bounces', { bounced: 100 }, undefined, 'paused'],
  ['complaints', { complained: 1 }, undefined, 'slowed'],
  ['many complaints', { complained: 3 }, 'slowed', 'paused'],
  ['too few recipients', { ended: 99, delivered: 9, bounced: 90 }, undefined, undefined],
  ['bounces just below the threshold', { bounced: 49 }, undefined, undefined],
  ['the same, while slowed down', { bounced: 49 }, 'slowed', 'slowed'],
  ['fewer bounces, while slowed down', { bounced: 39 }, 'slowed', undefined],
])('%s', (_, change, current, expected) => {
  const decided = decideBrake(SETTINGS, 100, { ...GOOD, ...change }, current);
  expect(decided?.state).toBe(expected);
});

test('a threshold of a workspace replaces that of the settings, and 0 disables it', () => {
  const bounces = { ...GOOD, bounced: 200 };
  const lenient = thresholdsOf(SETTINGS, { ...NO_POLICY, pauseBounceRate: 0.5 });
  expect(decideBrake(lenient, 100, bounces, undefined)?.state).toBe('slowed');
  const off = thresholdsOf(SETTINGS, { ...NO_POLICY, pauseBounceRate: 0, slowBounceRate: 0 });
  expect(decideBrake(off, 100, bounces, undefined)).toBeUndefined();
});

test('the evidence says what was counted', () => {
  const decided = decideBrake(SETTINGS, 100, { ...GOOD, bounced: 123 }, undefined);
  expect(decided?.evidence).toEqual({
    kind: 'bounce_rate',
    rate: 0.123,
    threshold: 0.1,
    counted: 123,
    recipients: 1_000,
  });
  const evidence = { ...(decided?.evidence as never as object), from: '', to: '' } as never;
  expect(brakeExplanation(evidence)).toBe(
    '123 of 1000 messages bounced (12.3%, the limit is 10%).',
  );
});

test('probation and the brake lower the quota per hour', () => {
  const limitOf = (state: BrakeState | null, nowMs: number, own: number | null = null) =>
    effectiveQuotas(
      own === null ? undefined : { ...NO_QUOTAS, messages_per_hour: own },
      NO_QUOTAS,
      { policy: NO_POLICY, state, createdAtMs: 0 },
      SETTINGS,
      nowMs,
    )?.messages_per_hour;
  expect(limitOf(null, 999)).toBe(50);
  expect(limitOf(null, 1_000)).toBeUndefined();
  expect(limitOf('slowed', 999)).toBe(20);
  expect(limitOf('slowed', 1_000, 10)).toBe(10);
});
