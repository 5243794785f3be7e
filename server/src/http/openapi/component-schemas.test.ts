import { Type } from 'typebox';
import { expect, it } from 'vitest';
import { ComponentSchemas } from './component-schemas.ts';
import { withDescription } from './shared-schemas.ts';

/**
 * Goal: titled schemas become components everywhere, and fields keep their names, whatever those
 * are.
 */

const Person = Type.Object({ title: Type.String(), items: Type.String() }, { title: 'Person' });

it('names a schema once and refers to it everywhere', () => {
  const named = new ComponentSchemas();
  const reference = { $ref: '#/components/schemas/Person' };
  const schema = Type.Object({
    one: Person,
    many: Type.Array(Person),
    maybe: Type.Union([Person, Type.Null()]),
    boss: withDescription(Person, 'Who decides.'),
  });
  expect(named.refer(schema).properties).toEqual({
    one: reference,
    many: { type: 'array', items: reference },
    maybe: { anyOf: [reference, { type: 'null' }] },
    boss: { ...reference, description: 'Who decides.' },
  });
  expect(Object.keys(named.components())).toEqual(['Person']);
});

it('keeps fields that are named like keywords', () => {
  const named = new ComponentSchemas();
  named.refer(Person);
  expect(named.components().Person).toEqual({
    type: 'object',
    required: ['title', 'items'],
    properties: { title: { type: 'string' }, items: { type: 'string' } },
  });
});

it('leaves examples and plain titles alone', () => {
  const named = new ComponentSchemas();
  const schema = Type.Object({}, { title: 'some words', examples: [{ title: 'Person' }] });
  expect(named.refer(schema)).toMatchObject({ examples: [{ title: 'Person' }] });
  expect(named.components()).toEqual({});
});

it('writes maps and integers as client generators read them', () => {
  const schema = Type.Object({
    headers: Type.Record(Type.String(), Person),
    count: Type.Integer({ maximum: 10 }),
    bytes: Type.Integer({ maximum: 2 ** 40 }),
  });
  expect(new ComponentSchemas().refer(schema).properties).toEqual({
    headers: {
      type: 'object',
      additionalProperties: { $ref: '#/components/schemas/Person' },
    },
    count: { type: 'integer', maximum: 10, format: 'int32' },
    bytes: { type: 'integer', maximum: 2 ** 40, format: 'int64' },
  });
});
