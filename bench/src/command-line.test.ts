import { expect, test } from 'vitest';
import { helpText, readOptions } from './command-line.ts';
import { compareResults, newResults, reportFor } from './results.ts';

const BENCHES = {
  accept: { description: 'Accepting messages.' },
  deliver: { description: 'Delivering messages.', parts: ['rate', 'far'] },
};
const read = (args: string[], env: NodeJS.ProcessEnv = {}) => readOptions(args, env, BENCHES);

test('no name selects all benchmarks', () => {
  const settings = { BENCH_SECONDS: '1', BENCH_PARTS: 'far' };
  expect(read(['--json', 'a.json'], { ...settings, HOME: '/' })).toEqual({
    help: false,
    names: ['accept', 'deliver'],
    json: 'a.json',
    compare: undefined,
    settings,
  });
  expect(read(['deliver', 'deliver']).names).toEqual(['deliver']);
});

test('unknown names, options, settings and parts are refused', () => {
  expect(() => read(['acept'])).toThrow('Unknown benchmark acept. Did you mean accept?');
  expect(() => read(['x'])).toThrow('Unknown benchmark x. Known are: accept, deliver.');
  expect(() => read(['--nosuch'])).toThrow(/--nosuch/);
  expect(() => read([], { BENCH_SECOND: '1' })).toThrow('Did you mean BENCH_SECONDS?');
  expect(() => read([], { BENCH_SECONDS: 'soon' })).toThrow(
    'BENCH_SECONDS: "soon" is not a positive number.',
  );
  expect(() => read(['deliver'], { BENCH_PARTS: 'rate,fast' })).toThrow('Unknown part fast.');
});

test('the help names every benchmark, option and setting', () => {
  const text = helpText(BENCHES);
  for (const word of ['accept', 'deliver: rate, far', '--json', '--compare', 'BENCH_SECONDS'])
    expect(text).toContain(word);
});

test('results are compared figure by figure', () => {
  const before = newResults({});
  reportFor(before, 'accept')('grouped', { 'requests/s': 4_000, 'p50 ms': 10 });
  const after = newResults({ BENCH_SECONDS: '1' });
  const report = reportFor(after, 'accept');
  report('grouped', { 'requests/s': 5_000, 'p50 ms': 8 });
  report('new line', { times: 2 });
  const [warning, ...lines] = compareResults(before, JSON.parse(JSON.stringify(after)));
  expect(warning).toContain('Not the same settings');
  expect(lines.map((line) => line.replaceAll(/ +/g, ' '))).toEqual([
    'accept: grouped 4000 5000 requests/s +25.0 %',
    'accept: grouped 10.0 8.00 p50 ms -20.0 %',
  ]);
});
