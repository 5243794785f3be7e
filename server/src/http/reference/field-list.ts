import type { ApiParameter, ApiSchema, DocumentReader } from './document-reader.ts';
import { type Html, html } from './html.ts';
import { renderInline } from './markdown.ts';

/**
 * Lists the fields of bodies and parameters: name, type, constraints and description. Nested
 * fields are collapsed.
 */

export type Side = 'request' | 'response';

/** Stops at schemas that contain themselves; no other schema is deeper. */
const DEPTH_MAX = 6;

export function parameterList(reader: DocumentReader, parameters: readonly ApiParameter[]): Html {
  return html`<dl class="fields">${parameters.map((parameter) =>
    field(
      reader,
      parameter.name,
      {
        ...parameter.schema,
        ...(parameter.description ? { description: parameter.description } : {}),
      },
      parameter.required ?? false,
      'request',
      DEPTH_MAX,
    ),
  )}</dl>`;
}

/**
 * Returns the fields of an object; empty if the schema has none. For a request, required fields
 * are marked; for a response, optional ones.
 */
export function fieldList(reader: DocumentReader, schema: ApiSchema, side: Side, depth = 0): Html {
  const objects = objectsIn(reader, schema);
  if (depth >= DEPTH_MAX || objects.length === 0) return html``;
  return html`${objects.map(
    ({ properties = {}, required = [] }, index) => html`
      ${index > 0 && html`<p class="or">or</p>`}
      <dl class="fields">${Object.entries(properties).map(([name, inner]) =>
        field(reader, name, inner, required.includes(name), side, depth),
      )}</dl>`,
  )}`;
}

function field(
  reader: DocumentReader,
  name: string,
  given: ApiSchema,
  required: boolean,
  side: Side,
  depth: number,
): Html {
  const { schema } = reader.schema(given);
  const description = given.description ?? schema.description;
  const nested = fieldList(reader, given, side, depth + 1);
  return html`<div class="field">
    <dt><code class="name">${name}</code> <span class="type">${typeText(reader, given)}</span>${
      side === 'request'
        ? required && html` <span class="required">required</span>`
        : !required && html` <span class="type">may be absent</span>`
    }</dt>
    <dd>${description !== undefined && html`<p>${renderInline(description)}</p>`}${rules(schema)}${
      nested.text !== '' &&
      html`<details><summary>${depth === 0 ? 'Fields' : 'More fields'}</summary>${nested}</details>`
    }</dd>
  </div>`;
}

/** The objects that a schema is, contains in a list, or offers as alternatives. */
function objectsIn(reader: DocumentReader, given: ApiSchema): ApiSchema[] {
  const { schema } = reader.schema(given);
  if (schema.anyOf) {
    const found = schema.anyOf.flatMap((one) => objectsIn(reader, one));
    // A single address or a list of addresses has the same fields.
    return [...new Map(found.map((one) => [JSON.stringify(one.properties), one])).values()];
  }
  if (schema.oneOf) return [sharedFields(schema.oneOf.map((one) => reader.schema(one).schema))];
  if (schema.items) return objectsIn(reader, schema.items);
  return schema.properties && Object.keys(schema.properties).length > 0 ? [schema] : [];
}

/**
 * The fields of a discriminated union as one object: alternatives that have their own section in the
 * reference would otherwise repeat it here.
 */
function sharedFields(alternatives: readonly ApiSchema[]): ApiSchema {
  const [{ properties = {}, required = [] } = {}] = alternatives;
  const entries = Object.entries(properties).map(([name, first]): [string, ApiSchema] => {
    const all = alternatives.map((one) => one.properties?.[name] ?? {});
    if (all.some(({ const: value }) => value !== first.const)) {
      return [name, { type: 'string', enum: all.map(({ const: value }) => value) }];
    }
    if (all.every(({ $ref }) => $ref === first.$ref)) return [name, first];
    return [name, { type: 'object', properties: {}, description: 'Depends on the type.' }];
  });
  return { properties: Object.fromEntries(entries), required };
}

function typeText(reader: DocumentReader, given: ApiSchema): string {
  const { schema } = reader.schema(given);
  if (schema.anyOf) return schema.anyOf.map((one) => typeText(reader, one)).join(' or ');
  if (schema.oneOf) return 'object';
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return 'enum';
  switch (schema.type) {
    case 'array':
      return `list of ${schema.items ? plural(typeText(reader, schema.items)) : 'values'}`;
    case 'string':
      return FORMATS[schema.format ?? ''] ?? 'string';
    case 'object':
      return schema.properties ? 'object' : 'map';
    default:
      return schema.type ?? 'any value';
  }
}

const FORMATS: Record<string, string> = { email: 'email address', 'date-time': 'time' };

function plural(type: string): string {
  const words = type.split(' or ').map((word) => PLURALS[word] ?? `${word}s`);
  return words.join(' or ');
}

const PLURALS: Record<string, string> = { 'email address': 'email addresses', enum: 'values' };

function rules(schema: ApiSchema): Html {
  const values = schema.enum ?? schema.items?.enum;
  const constraints = [
    ...bounds(schema),
    ...bounds(schema.items ?? {}).map(
      (rule) => `Each: ${rule.charAt(0).toLowerCase()}${rule.slice(1)}`,
    ),
  ];
  if (schema.default !== undefined) constraints.push(`Default: ${JSON.stringify(schema.default)}.`);
  return html`${values && html`<p class="values">${values.map((value) => html`<code>${String(value)}</code> `)}</p>`}${
    constraints.length > 0 && html`<p class="rules">${constraints.join(' ')}</p>`
  }`;
}

function bounds(schema: ApiSchema): string[] {
  return [
    range(schema.minLength, schema.maxLength, 'characters'),
    range(schema.minimum, schema.maximum, ''),
    range(schema.minItems, schema.maxItems, 'items'),
    range(undefined, schema.maxProperties, 'pairs'),
    // Patterns of ids say less than their description.
    schema.pattern !== undefined && schema.pattern.length <= 60 && !schema.pattern.includes('{26}')
      ? `Matches ${schema.pattern}.`
      : '',
  ].filter((text) => text !== '');
}

function range(min: number | undefined, max: number | undefined, what: string): string {
  const unit = what === '' ? '' : ` ${what}`;
  if (min !== undefined && max !== undefined) return `${number(min)} to ${number(max)}${unit}.`;
  if (max !== undefined) return `At most ${number(max)}${unit}.`;
  return min !== undefined && min > 0 ? `At least ${number(min)}${unit}.` : '';
}

function number(value: number): string {
  return value.toLocaleString('en-US');
}
