import type { TSchema } from 'typebox';

/**
 * Collects the component schemas of the OpenAPI document. Each schema whose title is a single
 * word becomes a named component and is replaced by a reference. Schemas are written as client
 * generators understand them; what the server validates stays as it is.
 */
export class ComponentSchemas {
  readonly #components = new Map<string, object>();

  /** Returns a copy of the schema with references in place of titled schemas. */
  refer(schema: TSchema): Record<string, unknown> {
    return this.#visit(schema as unknown as Record<string, unknown>);
  }

  /** Returns the components collected so far, sorted by name. */
  components(): Record<string, object> {
    return Object.fromEntries([...this.#components].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #visit(schema: Record<string, unknown>): Record<string, unknown> {
    const { title, 'x-note': note, ...rest } = schema;
    if (typeof title !== 'string' || !/^[A-Z]\w+$/.test(title)) return this.#copy(rest);
    if (!this.#components.has(title)) {
      // Registered before its content is visited, so that a schema may contain itself.
      this.#components.set(title, {});
      this.#components.set(title, this.#copy(rest));
    }
    const reference = { $ref: `#/components/schemas/${title}` };
    return note === undefined ? reference : { ...reference, description: note };
  }

  #copy(schema: Record<string, unknown>): Record<string, unknown> {
    return Object.fromEntries(
      Object.entries(forGenerators(schema)).map(([key, value]) => {
        if (HOLDS_MAP.has(key)) return [key, this.#each(value as Record<string, unknown>)];
        if (HOLDS_LIST.has(key)) {
          return [key, (value as Record<string, unknown>[]).map((inner) => this.#visit(inner))];
        }
        const holdsOne = HOLDS_ONE.has(key) && typeof value === 'object' && value !== null;
        return [key, holdsOne ? this.#visit(value as Record<string, unknown>) : value];
      }),
    );
  }

  #each(map: Record<string, unknown>): Record<string, unknown> {
    return Object.fromEntries(
      Object.entries(map).map(([name, inner]) => [
        name,
        this.#visit(inner as Record<string, unknown>),
      ]),
    );
  }
}

/**
 * Rewrites what generators ignore: a map that is written as a pattern for every name, an integer
 * without a size, which becomes a float or a big integer in some languages, and `const`, without
 * which the types of a union cannot be distinguished.
 */
function forGenerators(schema: Record<string, unknown>): Record<string, unknown> {
  const { patternProperties, ...rest } = schema;
  const values = (patternProperties as Record<string, unknown> | undefined)?.[EVERY_NAME];
  if (values !== undefined) return { ...rest, additionalProperties: values };
  if (typeof schema.const === 'string') return { ...schema, enum: [schema.const] };
  if (schema.type !== 'integer' || schema.format !== undefined) return schema;
  return { ...schema, format: Number(schema.maximum ?? 0) > INT32_MAX ? 'int64' : 'int32' };
}

/** The pattern that TypeBox writes for a record. */
const EVERY_NAME = '^.*$';
const INT32_MAX = 2 ** 31 - 1;

/** JSON Schema keywords that contain schemas; all others contain plain values. */
const HOLDS_MAP = new Set(['properties', 'patternProperties', '$defs']);
const HOLDS_LIST = new Set(['anyOf', 'allOf', 'oneOf', 'prefixItems']);
const HOLDS_ONE = new Set(['items', 'additionalProperties', 'propertyNames', 'not', 'contains']);
