import { expect, test } from 'vitest';
import { parseAddress, parseAddressList } from './address-list.ts';

test('a list of addresses with and without names', () => {
  expect(parseAddressList('Jane Doe <jane@example.com>, joe@example.com', '/to')).toEqual([
    { email: 'jane@example.com', name: 'Jane Doe' },
    { email: 'joe@example.com' },
  ]);
});

test('a name with a comma needs no quotes where there is one address', () => {
  const acme = { email: 'hello@acme.example', name: 'Acme, Inc.' };
  expect(parseAddress('Acme, Inc. <hello@acme.example>', '/from')).toEqual(acme);
  expect(parseAddress('"Acme, Inc." <hello@acme.example>', '/from')).toEqual(acme);
  for (const several of ['jane@example.com, Joe <joe@example.com>', 'a, b', 'a, <b@c>, d@e']) {
    expect(() => parseAddress(several, '/from')).toThrow(/Not an address/);
  }
  expect(() => parseAddressList('Doe, Jane <jane@example.com>', '/to')).toThrow(/Not an address/);
});

test('texts too long to be addresses are refused before they are parsed', () => {
  const tooLong = { errors: [expect.objectContaining({ pointer: '/to', code: 'too_long' })] };
  expect(() => parseAddressList('g:'.repeat(10_000_000), '/to')).toThrow(
    expect.objectContaining(tooLong),
  );
  expect(() => parseAddress(`${'g:'.repeat(1_000)}a@example.com`, '/to')).toThrow(
    expect.objectContaining(tooLong),
  );
  const many = Array.from({ length: 1_000 }, (_, n) => `Customer ${n} <customer-${n}@example.com>`);
  expect(parseAddressList(many.join(', '), '/to')).toHaveLength(1_000);
});
