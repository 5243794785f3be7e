import { expect, it } from 'vitest';
import { toOpenapi30 } from './openapi-30.ts';

/** Goal: generators that know nothing of OpenAPI 3.1 get types for everything. */

it('leaves out what 3.0 has no place for', () => {
  const info = {
    title: 'API',
    version: '1',
    summary: 'x',
    license: { name: 'MIT', identifier: 'MIT' },
  };
  expect(toOpenapi30({ openapi: '3.1.0', info, webhooks: { sent: {} }, paths: {} })).toEqual({
    openapi: '3.0.3',
    info: { title: 'API', version: '1', license: { name: 'MIT' } },
    paths: {},
  });
});

it('translates schemas wherever they are', () => {
  const schema = { type: 'string', const: 'a', examples: ['a'] };
  const translated = { type: 'string', enum: ['a'], example: 'a' };
  const map = { name: 'metadata', in: 'query', style: 'deepObject', schema };
  const media = { schema, example: 'a', examples: { first: { value: 'a' } } };
  const document = toOpenapi30({
    info: { license: {} },
    paths: {
      '/a': {
        get: {
          parameters: [{ name: 'q', in: 'query', schema }, map],
          responses: { 200: { content: { 'text/plain': media } } },
        },
      },
    },
  });
  expect(document.paths).toEqual({
    '/a': {
      get: {
        parameters: [{ name: 'q', in: 'query', schema: translated }],
        responses: { 200: { content: { 'text/plain': { schema: translated } } } },
      },
    },
  });
});

const TEXT = { type: 'string' };
const NULL = { type: 'null' };
const ADDRESS = { $ref: '#/components/schemas/Address' };

it('leaves out limits on the names in a map', () => {
  const map = { type: 'object', additionalProperties: TEXT };
  expect(translate({ ...map, propertyNames: { maxLength: 64 } })).toEqual(map);
});

it('writes null as nullable', () => {
  expect(translate({ anyOf: [TEXT, NULL], description: 'A name.' })).toEqual({
    ...TEXT,
    description: 'A name.',
    nullable: true,
  });
  // A reference has no keywords of its own in 3.0.
  expect(translate({ anyOf: [ADDRESS, NULL] })).toEqual({ allOf: [ADDRESS], nullable: true });
  expect(translate({ ...ADDRESS, description: 'Ignored.' })).toEqual(ADDRESS);
});

it('keeps the general form of a union', () => {
  const list = { type: 'array', items: ADDRESS, minItems: 1 };
  expect(translate({ anyOf: [ADDRESS, list] })).toEqual(list);
  const choice = { type: 'object', required: ['status'], properties: { status: TEXT } };
  expect(translate({ anyOf: [TEXT, choice, NULL] })).toEqual({ ...choice, nullable: true });
  const version = { anyOf: [{ type: 'integer' }, { type: 'string', const: 'draft' }] };
  expect(translate({ ...version, description: 'A version.' })).toEqual({
    description: 'A version.',
  });
});

it('merges objects, whose fields are then optional unless all have them', () => {
  const accepted = {
    type: 'object',
    required: ['index', 'id'],
    properties: { index: TEXT, id: TEXT },
  };
  const failed = {
    type: 'object',
    required: ['index', 'error'],
    properties: { index: TEXT, error: ADDRESS },
  };
  expect(translate({ type: 'array', items: { anyOf: [accepted, failed] } })).toEqual({
    type: 'array',
    items: {
      type: 'object',
      required: ['index'],
      properties: { index: TEXT, id: TEXT, error: ADDRESS },
    },
  });
});

/** Translates it as a property of a component, next to a property that is named like a keyword. */
function translate(schema: object): unknown {
  const properties = { schema, examples: { type: 'string' } };
  const { components } = toOpenapi30({
    info: { license: {} },
    components: { schemas: { One: { type: 'object', properties } } },
  }) as { components: { schemas: { One: { properties: Record<string, unknown> } } } };
  expect(components.schemas.One.properties.examples).toEqual({ type: 'string' });
  return components.schemas.One.properties.schema;
}
