import { expect, test } from 'vitest';
import { ManualClock } from '../lib/manual-clock.ts';
import { Pace } from './pace.ts';

function paceWith(state: { busy: number; commitsEach100Ms: number }) {
  const clock = new ManualClock(1_000_000);
  let commits = 0;
  const pace = new Pace({ clock, mailCommits: () => commits, busy: () => state.busy });
  return {
    pace,
    clock,
    pass(ms: number) {
      for (let passed = 0; passed < ms; passed += 100) {
        commits += state.commitsEach100Ms;
        clock.advance(100);
        pace.held;
      }
    },
  };
}

function taken(pace: Pace, most = 1_000): number {
  let count = 0;
  while (count < most && pace.take()) count += 1;
  return count;
}

test('nothing is held back while there is time to spare, or no mail', () => {
  for (const state of [
    { busy: 0.5, commitsEach100Ms: 50 },
    { busy: 1, commitsEach100Ms: 0 },
  ]) {
    const { pace, pass } = paceWith(state);
    pass(500);
    expect(taken(pace)).toBe(1_000);
  }
});

test('while busy with mail, tries are seven of a hundred events that mail makes', () => {
  const { pace, pass } = paceWith({ busy: 1, commitsEach100Ms: 50 });
  pass(500);
  taken(pace);
  pace.seen(500);
  expect(taken(pace)).toBe(35);
  expect(taken(pace)).toBe(0);
});

test('some are always let through', () => {
  const { pace, pass } = paceWith({ busy: 1, commitsEach100Ms: 50 });
  pass(500);
  taken(pace);
  pass(1_000);
  expect(taken(pace)).toBe(10);
});

test('what was not used is not saved up', () => {
  const { pace, pass } = paceWith({ busy: 1, commitsEach100Ms: 50 });
  pass(500);
  pace.seen(1_000_000);
  expect(taken(pace)).toBeLessThanOrEqual(101);
});

test('a clock that is set back holds nothing back for longer', () => {
  const state = { busy: 1, commitsEach100Ms: 50 };
  const { pace, clock, pass } = paceWith(state);
  pass(500);
  pace.take();
  clock.setBack(3_600_000);
  pace.take();
  state.busy = 0;
  pass(500);
  expect(taken(pace)).toBe(1_000);
  state.busy = 1;
  pass(500);
  taken(pace);
  pass(1_000);
  expect(taken(pace)).toBeGreaterThanOrEqual(10);
});
