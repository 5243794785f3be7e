import { expect, test } from 'vitest';
import { SizeBudget, Substitutions } from './substitutions.ts';

function substitute(text: string, values: Record<string, string>, bytesMax = 1_000_000): string {
  return new Substitutions(values, new SizeBudget(bytesMax), '/substitutions').apply(text);
}

test.each<[string, Record<string, string>, string]>([
  ['Hi -name-, -name-!', { '-name-': 'Jane' }, 'Hi Jane, Jane!'],
  ['nothing here', { '-name-': 'Jane' }, 'nothing here'],
  ['no tags', {}, 'no tags'],
  ['%a%-b-{{c}}', { '%a%': '1', '-b-': '2', '{{c}}': '3' }, '123'],
  ['-ab-', { '-a': 'short', '-ab-': 'long' }, 'long'],
  ['a.c abc', { 'a.c': 'literal' }, 'literal abc'],
  ['-a-', { '-a-': '$& -b-', '-b-': 'never' }, '$& -b-'],
  ['-constructor-', { '-name-': 'Jane' }, '-constructor-'],
  ['[^-]$', { '[^-]': 'x', $: 'y' }, 'xy'],
])('%j with %j becomes %j', (text, values, expected) => {
  expect(substitute(text, values)).toBe(expected);
});

test.each<[string, Record<string, string>]>([
  ['an empty tag', { '': 'x' }],
  ['a long tag', { ['x'.repeat(129)]: 'x' }],
  ['too many bytes', { '-a-': 'x'.repeat(10_000) }],
])('%s is refused', (_name, values) => {
  expect(() => substitute('', values)).toThrow(
    expect.objectContaining({ code: 'validation_failed' }),
  );
});

test('the expansion of a request is limited before it is built', () => {
  const bomb = '-a-'.repeat(300_000);
  expect(() => substitute(bomb, { '-a-': 'x'.repeat(9_000) })).toThrow(/at most 1000000 bytes/);
  const budget = new SizeBudget(10);
  const same = new Substitutions({}, budget, '');
  same.apply('123456');
  expect(() => same.apply('78901')).toThrow(/at most 10 bytes/);
});
