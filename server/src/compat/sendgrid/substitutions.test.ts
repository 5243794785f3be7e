import { expect, test } from 'vitest';
import { SizeBudget } from '../size-budget.ts';
import { Substitutions } from './substitutions.ts';

function substitute(text: string, values: Record<string, string>, bytesMax = 1_000_000): string {
  return new Substitutions(values, budgetOf(bytesMax), '/substitutions').apply(text);
}

function budgetOf(max: number): SizeBudget {
  return new SizeBudget(max, { pointer: '/personalizations', detail: `at most ${max} bytes` });
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
  ['too many bytes', { '-a-': 'x'.repeat(10_000) }],
])('%s is refused', (_name, values) => {
  expect(() => substitute('', values)).toThrow(
    expect.objectContaining({ code: 'validation_failed' }),
  );
});

test('the expansion of a request is limited before it is built', () => {
  const bomb = '-a-'.repeat(300_000);
  expect(() => substitute(bomb, { '-a-': 'x'.repeat(9_000) })).toThrow(/at most 1000000 bytes/);
  const budget = budgetOf(10);
  const same = new Substitutions({}, budget, '');
  same.apply('123456');
  expect(() => same.apply('78901')).toThrow(/at most 10 bytes/);
});

test('tags are found as a regular expression of them, longest first, would find them', () => {
  let seed = 7;
  const random = (max: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) * max);
  };
  const word = (length: number): string =>
    Array.from({ length }, () => 'ab-'.charAt(random(3))).join('');
  for (let round = 0; round < 300; round++) {
    const tags = new Set(Array.from({ length: 1 + random(5) }, () => word(1 + random(5))));
    const values = Object.fromEntries([...tags].map((tag) => [tag, `<${tag}>`]));
    const text = word(random(40));
    const longestFirst = [...tags].sort((a, b) => b.length - a.length);
    const expected = text.replaceAll(new RegExp(longestFirst.join('|'), 'g'), '<$&>');
    expect(substitute(text, values), JSON.stringify({ text, values })).toBe(expected);
  }
});

test('hostile tags are found in time', () => {
  // A regular expression needs about a billion comparisons for this.
  const values = Object.fromEntries(
    Array.from({ length: 127 }, (_, index) => [`${'a'.repeat(index)}b`, '']),
  );
  const text = 'a'.repeat(1_000_000);
  expect(substitute(text, values)).toBe(text);
});
