import { Type } from 'typebox';
import { describe, expect, test } from 'vitest';
import { RefusedError } from '../../lib/refused-error.ts';
import { closed } from '../openapi/shared-schemas.ts';
import { queryValidator } from './schema-validator.ts';

/**
 * Goal: a parameter is a number or a truth value when it is written as one, and nothing else is.
 * Method: the validator of a query, with what Fastify makes of the address.
 */

const validator = queryValidator(
  closed({
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
    force: Type.Optional(Type.Boolean()),
    q: Type.Optional(Type.String()),
  }),
);

function checked(query: Record<string, unknown>): unknown {
  try {
    validator.check(query);
    return query;
  } catch (error) {
    if (error instanceof RefusedError) return error.errors;
    throw error;
  }
}

describe('numbers', () => {
  test.each([
    ['1', 1],
    ['100', 100],
    ['007', 7],
  ])('%s is one', (text, limit) => {
    expect(checked({ limit: text, q: '10' })).toEqual({ limit, q: '10' });
  });

  test.each([
    '0x10',
    '0b1',
    '1e1',
    '10.0',
    '10.',
    '+10',
    ' 10',
    '10\n',
    '',
    '-',
    'ten',
    '1_0',
    '١٠',
  ])('%j is none', (limit) => {
    const detail = 'Must be of type integer.';
    expect(checked({ limit })).toEqual([{ parameter: 'limit', code: 'invalid_type', detail }]);
  });

  test.each([
    ['-1', 'Must be >= 1.'],
    ['101', 'Must be <= 100.'],
    ['99999999999999999999', 'Must be <= 100.'],
  ])('%s is out of range', (limit, detail) => {
    expect(checked({ limit })).toEqual([{ parameter: 'limit', code: 'out_of_range', detail }]);
  });

  test('two of them are none', () => {
    const detail = 'Must be of type integer.';
    const errors = [{ parameter: 'limit', code: 'invalid_type', detail }];
    expect(checked({ limit: ['1', '2'] })).toEqual(errors);
  });
});

describe('truth values', () => {
  test.each([
    ['true', true],
    ['false', false],
  ])('%s is one', (text, force) => {
    expect(checked({ force: text })).toEqual({ force });
  });

  test.each(['1', '0', 'TRUE', 'yes', 'true ', ''])('%j is none', (force) => {
    const detail = 'Must be of type boolean.';
    expect(checked({ force })).toEqual([{ parameter: 'force', code: 'invalid_type', detail }]);
  });
});
