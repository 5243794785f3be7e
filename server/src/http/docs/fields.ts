import type { ApiParameter, ApiSchema, DocumentReader } from './document-reader.ts';

/** The fields of bodies and parameters: name, type, constraints and description. */

export type Side = 'request' | 'response';

export interface Field {
  name: string;
  type: string;
  /** Required fields are marked in requests, optional ones in responses. */
  note: '' | 'required' | 'may be absent';
  description: string | undefined;
  values: readonly string[];
  rules: string;
  nested: FieldAlternatives;
}

/** Several lists of fields if a value can be one of several objects. */
export type FieldAlternatives = readonly (readonly Field[])[];

/** Stops at schemas that contain themselves; no other schema is deeper. */
const DEPTH_MAX = 6;

export function parameterFields(
  reader: DocumentReader,
  parameters: readonly ApiParameter[],
): Field[] {
  return parameters.map(({ name, schema, description, required = false }) =>
    fieldOf(
      reader,
      name,
      { ...schema, ...(description ? { description } : {}) },
      required,
      'request',
      DEPTH_MAX,
    ),
  );
}

/** Empty if the schema has no fields. */
export function fieldsOf(
  reader: DocumentReader,
  schema: ApiSchema,
  side: Side,
  depth = 0,
): FieldAlternatives {
  if (depth >= DEPTH_MAX) return [];
  return objectsIn(reader, schema).map(({ properties = {}, required = [] }) =>
    Object.entries(properties).map(([name, inner]) =>
      fieldOf(reader, name, inner, required.includes(name), side, depth),
    ),
  );
}

function fieldOf(
  reader: DocumentReader,
  name: string,
  given: ApiSchema,
  required: boolean,
  side: Side,
  depth: number,
): Field {
  const { schema } = reader.schema(given);
  return {
    name,
    type: typeText(reader, given),
    note: side === 'request' ? (required ? 'required' : '') : required ? '' : 'may be absent',
    description: given.description ?? schema.description,
    values: (schema.enum ?? schema.items?.enum ?? []).map(String),
    rules: rulesOf(schema),
    nested: fieldsOf(reader, given, side, depth + 1),
  };
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

function rulesOf(schema: ApiSchema): string {
  const constraints = [
    ...bounds(schema),
    ...bounds(schema.items ?? {}).map(
      (rule) => `Each: ${rule.charAt(0).toLowerCase()}${rule.slice(1)}`,
    ),
  ];
  if (schema.default !== undefined) constraints.push(`Default: ${JSON.stringify(schema.default)}.`);
  return constraints.join(' ');
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
  const unit = (count: number): string =>
    what === '' ? '' : ` ${count === 1 ? what.replace(/s$/, '') : what}`;
  if (min !== undefined && max !== undefined) {
    return `${number(min)} to ${number(max)}${unit(max)}.`;
  }
  if (max !== undefined) return `At most ${number(max)}${unit(max)}.`;
  return min !== undefined && min > 0 ? `At least ${number(min)}${unit(min)}.` : '';
}

function number(value: number): string {
  return value.toLocaleString('en-US');
}
