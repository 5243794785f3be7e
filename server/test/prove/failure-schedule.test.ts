import { expect, test } from 'vitest';
import { readCommand } from './command-line.ts';
import { installEarlierVersion } from './earlier-version.ts';
import { type FailureKind, planFailures } from './failure-schedule.ts';
import { findPatroni } from './patroni-programs.ts';

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

test('a kind that is listed twice occurs twice as often', () => {
  const kinds: FailureKind[] = ['node-kill', 'backend-kill', 'backend-kill'];
  const failures = planFailures({ seed: 7, count: 30, kinds, pauseMaxMs: 1, holdMaxMs: 1 });
  expect(failures.filter(({ kind }) => kind === 'backend-kill')).toHaveLength(20);
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

test('kinds have weights, and times have limits', () => {
  const read = (...args: string[]) => readCommand(args, 0);
  const kinds = ['backend-kill', 'backend-kill', 'node-kill'];
  expect(read('--kinds', 'backend-kill:2,node-kill', '--hold-max', '900')).toMatchObject({
    options: { kinds, holdMaxMs: 900, pauseMaxMs: 1_500, sendPauseMs: 100 },
  });
  expect(() => read('--kinds', 'node-kill:0')).toThrow('--kinds: "0" is not a whole number');
  expect(() => read('--minutes', '0.5')).toThrow('--minutes: "0.5" is not a whole number');
});

test('an upgrade replaces every server, and is not combined with failures', () => {
  const read = (...args: string[]) => readCommand(['--upgrade-from', 'v0.1.0', ...args], 0);
  expect(read()).toMatchObject({
    options: { upgradeFrom: 'v0.1.0', nodes: 2, failures: 2, kinds: ['upgrade'], setup: 'nodes' },
  });
  expect(read('--nodes', '3')).toMatchObject({ options: { nodes: 3, failures: 3 } });
  expect(() => read('--nodes', '1')).toThrow('--nodes: "1" is not a whole number of at least 2.');
  expect(() => read('--kinds', 'node-kill')).toThrow(
    '--upgrade-from cannot be combined with --kinds.',
  );
});

test('an earlier version is a commit or a package file', async () => {
  const install = (from: string) => installEarlierVersion(from, '/nonexistent');
  await expect(install('no-such-tag')).rejects.toThrow(
    '--upgrade-from: no-such-tag is neither a package file (.tgz) nor a commit of this repository.',
  );
  await expect(install('/nonexistent/postrider-0.1.0.tgz')).rejects.toThrow(
    '--upgrade-from: /nonexistent/postrider-0.1.0.tgz does not exist.',
  );
});

test('a machine without Patroni gets the names of what is missing', async () => {
  await expect(findPatroni('/nonexistent')).rejects.toThrow(
    /^--setup patroni needs programs that are not installed: patroni; etcd.*apt install patroni/,
  );
});
