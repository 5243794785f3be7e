/** Builds an example value for a schema from the examples of its fields. */
export function exampleOf(schema: object): unknown {
  const known = schema as {
    examples?: unknown[];
    const?: unknown;
    default?: unknown;
    enum?: unknown[];
    anyOf?: object[];
    type?: string;
    properties?: Record<string, object>;
    items?: object;
    format?: string;
    minimum?: number;
  };
  if (known.examples && known.examples.length > 0) return known.examples[0];
  if (known.const !== undefined) return known.const;
  if (known.default !== undefined) return known.default;
  if (known.enum) return known.enum[0];
  if (known.anyOf?.[0]) return exampleOf(known.anyOf[0]);
  switch (known.type) {
    case 'object':
      return Object.fromEntries(
        Object.entries(known.properties ?? {}).map(([name, inner]) => [name, exampleOf(inner)]),
      );
    case 'array':
      return known.items ? [exampleOf(known.items)] : [];
    case 'integer':
    case 'number':
      return known.minimum ?? 1;
    case 'boolean':
      return false;
    case 'null':
      return null;
    default:
      return 'text';
  }
}
