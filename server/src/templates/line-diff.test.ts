import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareContents } from './compare-contents.ts';
import { diffLines, unifiedDiff } from './line-diff.ts';
import { EMPTY_CONTENT, type StoredContent } from './stored-content.ts';

/** Goal: a difference tells the truth. Method: both texts are put together again from it. */

const lines = fc
  .array(fc.constantFrom('a', 'b', 'c', 'd', ''), { maxLength: 30 })
  .map((all) => all.join('\n'));

describe('a difference of lines', () => {
  it('holds both texts', () => {
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        const diff = diffLines(before, after);
        const side = (without: string) =>
          diff.filter(({ kind }) => kind !== without).map(({ text }) => text);
        expect(side('added')).toEqual(before === '' ? [] : before.split('\n'));
        expect(side('removed')).toEqual(after === '' ? [] : after.split('\n'));
      }),
    );
  });

  it('shows changed lines with a little around them', () => {
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

  it('of huge texts ends soon, and still holds both', () => {
    const before = Array.from({ length: 30_000 }, (_, n) => `a${n}`).join('\n');
    const after = Array.from({ length: 30_000 }, (_, n) => `b${n}`).join('\n');
    expect(diffLines(before, after)).toHaveLength(60_000);
  });
});

describe('a comparison of contents', () => {
  const content = (changes: Partial<StoredContent>): StoredContent => ({
    ...EMPTY_CONTENT,
    ...changes,
  });

  it('names every field that differs', () => {
    const changes = compareContents(
      content({
        subject: 'S',
        layout: 'a',
        locales: { de: { subject: 'D' } },
        variables: [{ name: 'x' }],
      }),
      content({
        subject: 'S',
        html: 'H',
        from: { email: 'a@b.example' },
        locales: { fr: { html: 'F' } },
        variables: [{ name: 'x', secret: true }],
      }),
    );
    expect(changes.map(({ field, before, after }) => [field, before, after])).toEqual([
      ['layout', 'a', null],
      ['locales.de.subject', 'D', null],
      ['variables.x', { name: 'x' }, { name: 'x', secret: true }],
      ['html', null, 'H'],
      ['from', null, { email: 'a@b.example' }],
      ['locales.fr.html', null, 'F'],
    ]);
    expect(changes.find(({ field }) => field === 'from')?.diff).toBeNull();
    expect(changes.find(({ field }) => field === 'html')?.diff).toContain('+H');
  });
});
