import fc from 'fast-check';
import { expect, it } from 'vitest';
import { unifiedDiff } from './unified-diff.ts';

/** Goal: a diff is correct and bounded in cost. Method: applying it to the old text gives the new one. */

const texts = fc
  .array(fc.constantFrom('a', 'b', 'c', 'd', '', '\\ No', '-x', '+x'), { maxLength: 30 })
  .map((lines) => lines.join('\n'));

/** Applies hunks to the lines of a text, and checks the lines that they expect there. */
function apply(before: string, diff: string): string {
  const old = before === '' ? [] : before.split('\n');
  const result: string[] = [];
  let position = 0;
  for (const line of diff === '' ? [] : diff.split('\n')) {
    const hunk = /^@@ -(\d+),\d+ \+\d+,\d+ @@$/.exec(line);
    if (hunk) {
      const start = Number(hunk[1]) - 1;
      result.push(...old.slice(position, start));
      position = Math.max(position, start);
    } else if (line.startsWith('+')) result.push(line.slice(1));
    else {
      expect(line.slice(1)).toBe(old[position]);
      if (line.startsWith(' ')) result.push(line.slice(1));
      position += 1;
    }
  }
  return [...result, ...old.slice(position)].join('\n');
}

it('leads from the old text to the new one', () => {
  fc.assert(
    fc.property(texts, texts, (before, after) => {
      fc.pre(before !== '' && after !== '');
      expect(apply(before, unifiedDiff(before, after))).toBe(after);
    }),
    { numRuns: 1000 },
  );
});

it('shows changed lines with three lines of context', () => {
  const before = Array.from({ length: 20 }, (_, n) => `line ${n}`);
  const after = before.with(10, 'changed').toSpliced(2, 1);
  expect(unifiedDiff(before.join('\n'), after.join('\n'))).toBe(
    [
      '@@ -1,6 +1,5 @@',
      ' line 0',
      ' line 1',
      '-line 2',
      ' line 3',
      ' line 4',
      ' line 5',
      '@@ -8,7 +7,7 @@',
      ' line 7',
      ' line 8',
      ' line 9',
      '-line 10',
      '+changed',
      ' line 11',
      ' line 12',
      ' line 13',
    ].join('\n'),
  );
  expect(unifiedDiff('same', 'same')).toBe('');
});

it('shows added and removed texts completely', () => {
  expect(unifiedDiff('', 'a\nb')).toBe('@@ -1,0 +1,2 @@\n+a\n+b');
  expect(unifiedDiff('a', '')).toBe('@@ -1,1 +1,0 @@\n-a');
  expect(unifiedDiff('a', 'a\n')).toBe('@@ -1,1 +1,2 @@\n a\n+');
});

it('replaces everything when there are too many differences', () => {
  const lines = (letter: string, sign = ''): string =>
    Array.from({ length: 30_000 }, (_, n) => `${sign}${letter}${n}`).join('\n');
  const isReplaced =
    unifiedDiff(lines('a'), lines('b')) ===
    `@@ -1,30000 +1,30000 @@\n${lines('a', '-')}\n${lines('b', '+')}`;
  expect(isReplaced).toBe(true);
});

it('is bounded when every line equals every other', () => {
  const same = 'x\n'.repeat(200_000);
  const diff = unifiedDiff(`p\n${same}${'y\n'.repeat(900)}`, `q\n${same}${'z\n'.repeat(900)}`);
  expect(diff.startsWith('@@ -1,200902 +1,200902 @@')).toBe(true);
});
