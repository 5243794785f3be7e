import { expect, test } from 'vitest';
import { isConnectionError } from './database-errors.ts';

const coded = (code: string) => Object.assign(new Error('as it happens'), { code });

test.each([
  ...['08000', '08006', '08P01', '57P01', '57P02', '57P03', '53300', '25006', '57014', '53100'],
  ...['ECONNREFUSED', 'ECONNRESET', 'ENOENT', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND'],
])('%s is a connection error', (code) => {
  expect(isConnectionError(coded(code))).toBe(true);
});

test.each(['23505', '23514', '22P02', '42601', '40001', '40P01', '28P01', '3D000', 'P0001'])(
  '%s is an answer of the database',
  (code) => {
    expect(isConnectionError(coded(code))).toBe(false);
  },
);

test('other errors are not connection errors', () => {
  expect(isConnectionError(new Error('a bug of ours'))).toBe(false);
  expect(isConnectionError('Connection terminated')).toBe(false);
  expect(isConnectionError(undefined)).toBe(false);
});

test('an AggregateError of several addresses counts if one of them is a connection error', () => {
  expect(isConnectionError(new AggregateError([new Error('x'), coded('ECONNREFUSED')]))).toBe(true);
  expect(isConnectionError(new AggregateError([new Error('x')]))).toBe(false);
});
