import { expect, test } from 'vitest';
import { timeQuery, timeRangeLabel } from './time-range.ts';

const NOW = Date.parse('2026-11-17T12:00:00.000Z');
const after = '2026-11-10T09:00:00.000Z';
const before = '2026-11-12T09:00:00.000Z';

test('a period ends now, and exact times are passed on', () => {
  expect(timeQuery({}, NOW)).toEqual({});
  expect(timeQuery({ since: '24h' }, NOW)).toEqual({ created_after: '2026-11-16T12:00:00.000Z' });
  expect(timeQuery({ after, before }, NOW)).toEqual({
    created_after: after,
    created_before: before,
  });
});

test('of a period and an exact time, the later one counts', () => {
  expect(timeQuery({ since: '24h', after }, NOW).created_after).toBe('2026-11-16T12:00:00.000Z');
  expect(timeQuery({ since: '30d', after }, NOW).created_after).toBe(after);
});

test('the label names the period, and the year only if it is another one', () => {
  expect(timeRangeLabel({}, NOW)).toBe('Any time');
  expect(timeRangeLabel({ since: '7d' }, NOW)).toBe('Last 7 days');
  expect(timeRangeLabel({ since: 'no such period' }, NOW)).toBe('Any time');
  expect(timeRangeLabel({ after }, NOW)).toMatch(/^Since Nov \d+, \d\d:00$/);
  expect(timeRangeLabel({ after, before }, NOW)).toMatch(/^Nov .* – Nov /);
  expect(timeRangeLabel({ before: '2024-03-02T10:00:00.000Z' }, NOW)).toContain('2024');
  expect(timeRangeLabel({ after: 'yesterday' }, NOW)).toBe('Since yesterday');
});
