import { expect, test } from 'vitest';
import { readCommand } from './command-line.ts';
import { type FailureKind, planFailures } from './failure-schedule.ts';

const KINDS: FailureKind[] = ['node-kill', 'node-freeze', 'postmaster-kill', 'clock-jump'];
const plan = (seed: number, count = 40) =>
  planFailures({ seed, count, kinds: KINDS, pauseMaxMs: 500, holdMaxMs: 3_000 });

test('the seed alone decides the schedule', () => {
  expect(plan(7)).toEqual(plan(7));
  expect(plan(7)).not.toEqual(plan(8));
});

test('every kind occurs equally often, within its limits', () => {
  const failures = plan(7);
  for (const kind of KINDS) {
    expect(failures.filter((failure) => failure.kind === kind)).toHaveLength(10);
  }
  for (const { kind, pauseMs, holdMs, target, jumpMs } of failures) {
    expect(pauseMs).toBeGreaterThanOrEqual(50);
    expect(pauseMs).toBeLessThanOrEqual(500);
    expect(holdMs).toBeLessThanOrEqual(kind === 'postmaster-kill' ? 0 : 3_000);
    expect(target).toBeLessThan(1);
    expect(Math.abs(jumpMs)).toBeLessThanOrEqual(120_000);
  }
  expect(failures.map(({ number }) => number)).toEqual(failures.map((_, n) => n + 1));
});

test('a schedule without kinds or failures is empty', () => {
  expect(plan(7, 0)).toEqual([]);
  const options = { seed: 1, count: 3, kinds: [], pauseMaxMs: 1, holdMaxMs: 1 };
  expect(planFailures(options)).toEqual([]);
});

test('the command line has defaults and refuses what it does not know', () => {
  const read = (...args: string[]) => readCommand(args, Date.parse('2026-05-04T03:02:01Z'));
  expect(read('--seed', '5', '--kinds', 'node-kill,disk-full')).toMatchObject({
    action: 'run',
    options: { seed: 5, failures: 100, setup: 'nodes', kinds: ['node-kill', 'disk-full'] },
  });
  const out = expect.stringMatching(/prove-20260504030201$/);
  expect(read()).toMatchObject({ options: { out } });
  expect(read('--check', 'x')).toEqual({ action: 'check', folder: 'x' });
  expect(() => read('--setup', 'node')).toThrow('Unknown setup node. Did you mean nodes?');
  expect(() => read('--kinds', 'node-kil')).toThrow('Unknown kind node-kil.');
  expect(() => read('--failures', 'many')).toThrow('--failures: "many" is not a whole number');
  expect(() => read('--nodes', '0')).toThrow('of at least 1');
  expect(() => read('--nosuch')).toThrow(/--nosuch/);
});
