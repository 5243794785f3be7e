import { Type } from 'typebox';
import { describe, expect, test } from 'vitest';
import { RefusedError } from '../../lib/refused-error.ts';
import { closed, oneOf } from '../openapi/shared-schemas.ts';
import { bodyValidator, queryValidator } from './schema-validator.ts';

/**
 * Goal: a parameter is a number or boolean only if it is written as one. Method: the query
 * validator with values as Fastify parses them from the URL.
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
  ])('%s is accepted', (text, limit) => {
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
  ])('%j is rejected', (limit) => {
    const detail = 'Must be of type integer.';
    expect(checked({ limit })).toEqual([{ parameter: 'limit', code: 'invalid_type', detail }]);
  });

  test.each([
    ['-1', 'Must be at least 1.'],
    ['101', 'Must be at most 100.'],
    ['99999999999999999999', 'Must be at most 100.'],
  ])('%s is out of range', (limit, detail) => {
    expect(checked({ limit })).toEqual([{ parameter: 'limit', code: 'out_of_range', detail }]);
  });

  test('a repeated parameter is rejected', () => {
    const detail = 'Must be given only once.';
    const errors = [{ parameter: 'limit', code: 'invalid_type', detail }];
    expect(checked({ limit: ['1', '2'] })).toEqual(errors);
  });
});

test.each([
  ['limt', 'Did you mean limit?'],
  ['page', 'Valid parameters are limit, force, q.'],
])('the unknown parameter %s is rejected with those that exist', (parameter, known) => {
  const detail = `Unknown parameter. ${known}`;
  expect(checked({ [parameter]: '1' })).toEqual([{ parameter, code: 'unknown_field', detail }]);
});

describe('booleans', () => {
  test.each([
    ['true', true],
    ['false', false],
  ])('%s is accepted', (text, force) => {
    expect(checked({ force: text })).toEqual({ force });
  });

  test.each(['1', '0', 'TRUE', 'yes', 'true ', ''])('%j is rejected', (force) => {
    const detail = 'Must be of type boolean.';
    expect(checked({ force })).toEqual([{ parameter: 'force', code: 'invalid_type', detail }]);
  });
});

test.each([
  [{ key: 'A b' }, '/key', 'Must match ^[a-z-]+$, such as weekly-digest.'],
  [{ color: 'red' }, '/color', 'Must match ^#.*$.'],
  [{}, '', 'Must have at least 1 of the fields key, color, tag, event.'],
  [{ tag: ' a' }, '/tag', 'Must not contain control characters, or begin or end with a space.'],
  [{ tag: '' }, '/tag', 'Must be at least 1 character.'],
  [{ event: 'sent' }, '/event', 'Must be one of delivered, bounced.'],
  [{ event: 'bounce' }, '/event', 'Must be one of delivered, bounced. Did you mean bounced?'],
])('the error of the body %j shows what is accepted', (body, pointer, detail) => {
  const schema = closed(
    {
      key: Type.Optional(Type.String({ pattern: '^[a-z-]+$', examples: ['weekly-digest'] })),
      color: Type.Optional(Type.String({ pattern: '^#.*$' })),
      tag: Type.Optional(Type.String({ minLength: 1, pattern: '^[^\\x00-\\x20][^\\x00-\\x1f]*$' })),
      event: Type.Optional(oneOf(['delivered', 'bounced'])),
    },
    { minProperties: 1 },
  );
  expect(() => bodyValidator(schema).check(body)).toThrow(
    expect.objectContaining({ errors: [expect.objectContaining({ pointer, detail })] }),
  );
});

test.each([
  ['', '/pairs/'],
  ['long/er', '/pairs/long~1er'],
])('the name %j of a map is rejected at %s', (name, pointer) => {
  const names = { propertyNames: { minLength: 1, maxLength: 5 } };
  const schema = closed({ pairs: Type.Record(Type.String(), Type.String(), names) });
  const detail = 'A name must have 1 to 5 characters.';
  expect(() => bodyValidator(schema).check({ pairs: { short: 'a', [name]: 'b' } })).toThrow(
    expect.objectContaining({ errors: [{ pointer, code: 'invalid_name', detail }] }),
  );
});
