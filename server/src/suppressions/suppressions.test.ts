import { expect, test } from 'vitest';
import { publicSuppression } from './suppression-entry.ts';
import type { Suppression } from './suppression-store.ts';
import { isSortedByKey } from './suppressions.ts';

const ENTRY: Suppression = {
  key: 'jane@example.com',
  stream: '',
  id: '00000000-0000-7000-8000-000000000001',
  email: 'jane@example.com',
  domain: null,
  reason: 'hard_bounce',
  evidence: null,
  note: null,
  createdAtMs: 0,
  expiresAtMs: null,
};

test('the public form says whether the address was erased', () => {
  expect(publicSuppression(ENTRY)).toMatchObject({ email: 'jane@example.com', erased: false });
  expect(publicSuppression({ ...ENTRY, key: '#hash', email: null })).toMatchObject({
    email: null,
    erased: true,
  });
});

test('the public form has no stream for a suppression that applies everywhere', () => {
  expect(publicSuppression(ENTRY).stream).toBeNull();
  expect(publicSuppression({ ...ENTRY, stream: 'digest' }).stream).toBe('digest');
});

test('only a search by prefix is sorted by key', () => {
  expect(isSortedByKey({ prefix: 'jane' })).toBe(true);
  expect(isSortedByKey({ prefix: 'jane', email: 'jane@example.com' })).toBe(false);
  expect(isSortedByKey({ reason: 'manual' })).toBe(false);
});
