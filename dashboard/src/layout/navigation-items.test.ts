import { expect, test } from 'vitest';
import { PAGES } from './navigation-items.ts';

test('each page has a shortcut of its own', () => {
  const keys = PAGES.map(({ key }) => key);
  expect(keys).toEqual([...new Set(keys)]);
});
