/**
 * Translates the document to OpenAPI 3.0, for client generators that do not read 3.1 or have no
 * type for "a value or a list of values". Where the API takes several forms of a value, only the
 * general one remains, so every request that the result allows is valid, and every response fits
 * it. Webhook payloads and limits on the names in a map are left out because 3.0 has no place for
 * them; examples, because some use the other forms.
 */

type Json = Record<string, unknown>;
type Schema = Json;

export function toOpenapi30(document: object): Json {
  const { info, webhooks: _webhooks, ...rest } = document as Json & { info: Json };
  const { summary: _summary, license, ...aboutApi } = info as Json & { license: Json };
  return {
    ...(translatePart(rest) as Json),
    openapi: '3.0.3',
    info: { ...aboutApi, license: { name: license.name } },
  };
}

/** Visits everything around the schemas, which 3.0 and 3.1 write in the same way. */
function translatePart(part: unknown): unknown {
  if (Array.isArray(part)) return part.filter((item) => !isMapInQuery(item)).map(translatePart);
  if (typeof part !== 'object' || part === null) return part;
  return Object.fromEntries(
    Object.entries(part)
      .filter(([key]) => key !== 'example' && key !== 'examples')
      .map(([key, value]) => {
        if (key === 'schema') return [key, translateSchema(value)];
        if (key === 'schemas') return [key, translateEach(value)];
        return [key, translatePart(value)];
      }),
  );
}

/** `metadata[key]=value`, which OpenAPI Generator turns into Java that does not compile. */
function isMapInQuery(item: Json): boolean {
  return item.style === 'deepObject';
}

function translateSchema(schema: Schema): Schema {
  // Keywords beside a reference mean nothing in 3.0.
  if (schema.$ref !== undefined) return { $ref: schema.$ref };
  const { anyOf, ...about } = schema as Schema & { anyOf?: Schema[] };
  if (anyOf) return translateUnion(anyOf, about);
  const {
    const: only,
    examples,
    propertyNames: _names,
    ...rest
  } = schema as Schema & {
    examples?: unknown[];
  };
  return {
    ...Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, within(key, value)])),
    ...(only === undefined ? {} : { enum: [only] }),
    ...(examples?.length ? { example: examples[0] } : {}),
  };
}

/** Translates the schemas below a keyword. */
function within(key: string, value: unknown): unknown {
  if (key === 'properties') return translateEach(value as Record<string, Schema>);
  if (key === 'oneOf' || key === 'allOf') return (value as Schema[]).map(translateSchema);
  const holdsOne = key === 'items' || key === 'additionalProperties' || key === 'not';
  return holdsOne && typeof value === 'object' ? translateSchema(value as Schema) : value;
}

function translateEach(schemas: Record<string, Schema>): Record<string, Schema> {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, translateSchema(schema)]),
  );
}

function translateUnion(anyOf: Schema[], about: Schema): Schema {
  const forms = anyOf.filter(({ type }) => type !== 'null');
  const schema = generalForm(forms);
  const { examples: _examples, ...described } = about;
  if (forms.length === anyOf.length) return { ...schema, ...described };
  if (schema.$ref === undefined) return { ...schema, ...described, nullable: true };
  // To be exact, `nullable` needs a type beside it, but with one, generators make a second type.
  return { ...described, allOf: [schema], nullable: true };
}

/** Returns the form in which every value of a union can be written. */
function generalForm(forms: Schema[]): Schema {
  const [first, ...others] = forms.map(translateSchema) as [Schema, ...Schema[]];
  if (others.length === 0) return first;
  const list = others.find(({ type }) => type === 'array');
  if (list) return list;
  const objects = [first, ...others].filter(({ type }) => type === 'object');
  if (objects.length > 0) return mergeObjects(objects);
  // A number or a word, such as a version or `draft`: any value.
  return {};
}

function mergeObjects(objects: Schema[]): Schema {
  const required = objects.map((object) => (object.required ?? []) as string[]);
  return {
    ...Object.assign({}, ...objects),
    required: required[0]?.filter((name) => required.every((names) => names.includes(name))),
    properties: Object.assign({}, ...objects.map(({ properties }) => properties)),
  };
}
