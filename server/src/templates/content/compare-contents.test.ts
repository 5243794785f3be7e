import { expect, it } from 'vitest';
import { compareContents } from './compare-contents.ts';
import { EMPTY_CONTENT, type StoredContent } from './stored-content.ts';

const content = (changes: Partial<StoredContent>): StoredContent => ({
  ...EMPTY_CONTENT,
  ...changes,
});

it('lists every field that differs', () => {
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
