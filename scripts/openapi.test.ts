import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, it } from 'vitest';
import { toOpenapi30 } from '../server/src/http/openapi/openapi-30.ts';
import { defaultDocument } from './openapi.ts';

/** Goal: the document is one that client generators and mock servers can work with. */

// biome-ignore lint/suspicious/noExplicitAny: the tests read any part of the document.
type Loose = Record<string, any>;

const document = JSON.parse(JSON.stringify(defaultDocument())) as Loose;

it('writes maps as additional properties, and gives integers a size', () => {
  const schemas = [...objectsIn(document)];
  expect(schemas.filter((one) => 'patternProperties' in one)).toEqual([]);
  expect(schemas.filter((one) => one.type === 'integer' && one.format === undefined)).toEqual([]);
});

it('describes events as a union of named types', () => {
  const { schemas } = document.components;
  const { oneOf, discriminator } = schemas.Event;
  expect(discriminator.propertyName).toBe('type');
  expect(Object.keys(discriminator.mapping)).toEqual(Object.keys(document.webhooks));
  expect(oneOf.map(({ $ref }: Loose) => $ref)).toEqual(Object.values(discriminator.mapping));
  for (const [type, { post }] of Object.entries<Loose>(document.webhooks)) {
    const { $ref } = post.requestBody.content['application/json'].schema;
    expect($ref).toBe(discriminator.mapping[type]);
    expect(schemas[$ref.split('/').at(-1)].properties.type).toMatchObject({
      const: type,
      enum: [type],
    });
  }
});

it('names responses as types are named, and documents 500 everywhere', () => {
  for (const name of Object.keys(document.components.responses)) {
    expect(name).toMatch(/^([A-Z][a-z]+)+$/);
  }
  for (const operation of operations()) expect(Object.keys(operation.responses)).toContain('500');
});

it('has no credentials in cookies, with which Ruby clients of OpenAPI Generator fail', () => {
  const schemes = Object.values<Loose>(document.components.securitySchemes);
  expect(schemes.map((scheme) => scheme.in)).toEqual([undefined, undefined, 'header']);
});

it('has no keywords of 3.1, no unions of plain values and no maps in queries as OpenAPI 3.0', () => {
  const foreign = [
    'anyOf',
    'const',
    'examples',
    'patternProperties',
    'prefixItems',
    'propertyNames',
    'webhooks',
  ];
  const text = JSON.stringify(toOpenapi30(document), (key, value) =>
    key === 'example' ? undefined : value,
  );
  const translated = [...objectsIn(JSON.parse(text))];
  expect(translated.filter((one) => foreign.some((keyword) => keyword in one))).toEqual([]);
  expect(translated.filter(({ type }) => type === 'null' || Array.isArray(type))).toEqual([]);
  expect(translated.filter(({ style }) => style === 'deepObject')).toEqual([]);
});

it('has patterns that take linear time, because they are also tested on text that is too long', () => {
  const patterns = [...objectsIn(document)].map(({ pattern }) => pattern);
  for (const pattern of new Set(patterns.filter((one) => typeof one === 'string'))) {
    const regExp = new RegExp(pattern, 'u');
    for (const repeated of ['x', '0', ' ', '-', 'x.', 'x,', 'x ']) {
      const startedAtMs = performance.now();
      regExp.test(`${repeated.repeat(100_000)}\n`);
      const tookMs = performance.now() - startedAtMs;
      expect(tookMs, `${pattern} with ${repeated}`).toBeLessThan(1_000);
    }
  }
});

it('has examples that match their schemas, without filler', () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, validateSchema: false });
  ajv.addSchema(document, 'document');
  const wrong: string[] = [];
  for (const [pointer, media] of mediaIn(document)) {
    const examples = Object.values<Loose>(media.examples ?? {}).map(({ value }) => value);
    for (const example of [media.example, ...examples]) {
      if (example === undefined) continue;
      const isValid = ajv.compile({ $ref: `document#${pointer}/schema` })(example);
      const isFiller = Object.values(leavesOf(example)).includes('text');
      if (!isValid || isFiller) wrong.push(pointer);
    }
  }
  expect(wrong).toEqual([]);
});

function operations(): Loose[] {
  return Object.values<Loose>(document.paths).flatMap((methods) => Object.values<Loose>(methods));
}

function* objectsIn(value: unknown): Generator<Loose> {
  if (value === null || typeof value !== 'object') return;
  yield value as Loose;
  for (const inner of Object.values(value)) yield* objectsIn(inner);
}

/** Media types of JSON bodies with their JSON Pointers. */
function* mediaIn(value: Loose, pointer = ''): Generator<[string, Loose]> {
  for (const [key, inner] of Object.entries(value)) {
    if (inner === null || typeof inner !== 'object') continue;
    const at = `${pointer}/${encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))}`;
    if (key === 'application/json') yield [at, inner];
    else yield* mediaIn(inner, at);
  }
}

function leavesOf(value: unknown): unknown[] {
  if (value === null || typeof value !== 'object') return [value];
  return Object.values(value).flatMap(leavesOf);
}
