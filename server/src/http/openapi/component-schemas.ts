import type { TSchema } from 'typebox';

/**
 * Schemas on their way into the OpenAPI document: each one with a title of one word becomes a named
 * component, and wherever it stands a reference to it is left.
 */
export class ComponentSchemas {
  readonly #components = new Map<string, object>();

  /** A copy of the schema with references in place of named ones. */
  refer(schema: TSchema): Record<string, unknown> {
    return this.#visit(schema as unknown as Record<string, unknown>);
  }

  /** The named ones met so far, in order of name. */
  components(): Record<string, object> {
    return Object.fromEntries([...this.#components].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #visit(schema: Record<string, unknown>): Record<string, unknown> {
    const { title, 'x-note': note, ...rest } = schema;
    if (typeof title !== 'string' || !/^[A-Z]\w+$/.test(title)) return this.#copy(rest);
    if (!this.#components.has(title)) {
      // Held before its own inside is visited, so that a schema may hold itself.
      this.#components.set(title, {});
      this.#components.set(title, this.#copy(rest));
    }
    const reference = { $ref: `#/components/schemas/${title}` };
    return note === undefined ? reference : { ...reference, description: note };
  }

  #copy(schema: Record<string, unknown>): Record<string, unknown> {
    return Object.fromEntries(
      Object.entries(schema).map(([key, value]) => {
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

/** Keywords of JSON Schema that hold further schemas; all others hold plain values. */
const HOLDS_MAP = new Set(['properties', 'patternProperties', '$defs']);
const HOLDS_LIST = new Set(['anyOf', 'allOf', 'oneOf', 'prefixItems']);
const HOLDS_ONE = new Set(['items', 'additionalProperties', 'propertyNames', 'not', 'contains']);
