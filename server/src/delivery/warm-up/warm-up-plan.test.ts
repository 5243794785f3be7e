import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { WARM_UP_DAYS } from '../../config/delivery-routes.ts';
import {
  capOf,
  DAY_MS,
  leaseBlock,
  newProgress,
  progressAt,
  WARM_UP_CAPS,
  type WarmUpProgress,
  type WarmUpRequest,
} from './warm-up-plan.ts';

const START = Date.UTC(2026, 10, 20);

function progress(given: Partial<WarmUpProgress> = {}): WarmUpProgress {
  return { ...newProgress(START, START), ...given };
}

function request(given: Partial<WarmUpRequest> = {}): WarmUpRequest {
  return { startsAtMs: START, startDay: 1, nowMs: START, messages: 1, ...given };
}

test('the caps grow every day for a month, and then there is none', () => {
  expect(WARM_UP_CAPS).toHaveLength(WARM_UP_DAYS);
  expect(WARM_UP_CAPS.slice(0, 3)).toEqual([50, 75, 100]);
  WARM_UP_CAPS.reduce((before, cap) => {
    expect(cap / before).toBeGreaterThan(1.2);
    expect(cap / before).toBeLessThan(1.6);
    return cap;
  });
  expect(capOf({ planDay: 30 })).toBe(1_200_000);
  expect(capOf({ planDay: 31 })).toBeNull();
});

test('the documentation lists the caps', () => {
  const guide = new URL('../../../../docs/production.md', import.meta.url);
  const [, section = ''] = readFileSync(guide, 'utf8').split('## Warming up an address');
  const rows = [...section.matchAll(/(?<=\| )(\d+) \| ([\d,]+) (?=\|)/g)]
    .map(([, day, cap = '']) => [Number(day), Number(cap.replaceAll(',', ''))])
    .slice(0, WARM_UP_CAPS.length);
  expect(new Map(rows as [number, number][])).toEqual(
    new Map(WARM_UP_CAPS.map((cap, index) => [index + 1, cap])),
  );
});

test.each([
  ['the cap was used', { leased: 50 }, 2],
  ['half the cap was used', { leased: 25 }, 2],
  ['less was used', { leased: 24 }, 1],
  ['the provider refused a message of few', { leased: 50, refused: 1 }, 1],
  ['the provider refused one message in 200', { planDay: 8, leased: 600, refused: 3 }, 8],
  ['the provider refused fewer', { planDay: 8, leased: 600, refused: 2 }, 9],
  ['the plan is over', { planDay: 31, leased: 1 }, 31],
])('the next day when %s', (_when, given, planDay) => {
  const before = progress({ overflowed: 7, ...given });
  const next = { ...progress(), dayMs: START + DAY_MS, planDay };
  expect(progressAt(before, START + DAY_MS + 1)).toEqual(next);
  // Days without mail are not days of the plan.
  expect(progressAt(before, START + 9 * DAY_MS).planDay).toBe(planDay);
  expect(progressAt(before, START + DAY_MS - 1)).toBe(before);
});

test('a clock that was set back continues the later day', () => {
  const used = progress({ leased: 50 });
  expect(progressAt(used, START - DAY_MS)).toBe(used);
  expect(leaseBlock(used, request({ nowMs: START - DAY_MS })).granted).toBe(0);
});

test('blocks are a fiftieth of the cap, or what is requested, or what is left', () => {
  const grantedOf = (given: Partial<WarmUpProgress>, messages: number) => {
    const lease = leaseBlock(progress(given), request({ messages }));
    const isCounted = capOf(lease.progress) !== null;
    expect(lease.progress.leased).toBe((given.leased ?? 0) + (isCounted ? lease.granted : 0));
    return lease.granted;
  };
  expect(grantedOf({}, 1)).toBe(1);
  expect(grantedOf({}, 10)).toBe(10);
  expect(grantedOf({ leased: 45 }, 10)).toBe(5);
  expect(grantedOf({ leased: 50 }, 1)).toBe(0);
  expect(grantedOf({ planDay: 11 }, 1)).toBe(32);
  expect(grantedOf({ planDay: 30 }, 1)).toBe(1_000);
  expect(grantedOf({ planDay: 30 }, 2_000)).toBe(2_000);
  expect(grantedOf({ planDay: 31 }, 2_000)).toBe(2_000);
});

test('a later date starts the plan again, an earlier one does not', () => {
  const known = progress({ planDay: 12, leased: 5 });
  const nowMs = START + 20 * DAY_MS;
  const again = leaseBlock(known, request({ startsAtMs: START + DAY_MS, nowMs }));
  expect(again.progress).toEqual({ ...newProgress(START + DAY_MS, nowMs), leased: 1 });
  const earlier = leaseBlock(known, request({ startsAtMs: START - DAY_MS }));
  expect(earlier.progress).toMatchObject({ startsAtMs: START, planDay: 12 });
});

test('a plan begins or continues with a later day, and never goes back', () => {
  const dayAfter = (known: Partial<WarmUpProgress>, given: Partial<WarmUpRequest>) =>
    leaseBlock(progress(known), request(given)).progress.planDay;
  const nextPlan = { startsAtMs: START + DAY_MS, nowMs: START + DAY_MS };
  expect(dayAfter({ planDay: 20 }, { ...nextPlan, startDay: 12 })).toBe(12);
  expect(dayAfter({ planDay: 20 }, nextPlan)).toBe(1);
  expect(dayAfter({ planDay: 5, leased: 200 }, { startDay: 12 })).toBe(12);
  expect(dayAfter({ planDay: 20 }, { startDay: 12 })).toBe(20);
  expect(dayAfter({ planDay: 31 }, { startDay: 30 })).toBe(31);
  // Of a node with an earlier plan.
  expect(dayAfter({ planDay: 5 }, { startsAtMs: START - DAY_MS, startDay: 12 })).toBe(5);
  // What was sent today stays counted.
  const raised = leaseBlock(progress({ leased: 50 }), request({ startDay: 4, messages: 200 }));
  expect([raised.granted, raised.progress.leased]).toEqual([100, 150]);
});
