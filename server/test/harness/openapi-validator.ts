import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

/** The OpenAPI document of a running server, to hold what it says against what it does. */
export interface DocumentSchemas<T> {
  document: T;
  /** What is wrong with a value, by the schema at this place of the document; undefined for nothing. */
  faultsOf(pointer: string, value: unknown): string | undefined;
}

export async function openDocument<T extends object>(base: string): Promise<DocumentSchemas<T>> {
  const response = await fetch(`${base}/api/v1/openapi.json`);
  const document = (await response.json()) as T;
  const ajv = new Ajv2020({
    strict: false,
    validateFormats: false,
    validateSchema: false,
    allErrors: true,
  });
  ajv.addSchema(closedDocument(document), 'document');
  const validators = new Map<string, ValidateFunction>();
  return {
    document,
    faultsOf(pointer, value) {
      const validate = validators.get(pointer) ?? ajv.compile({ $ref: `document${pointer}` });
      validators.set(pointer, validate);
      if (validate(value)) return undefined;
      return (validate.errors ?? [])
        .map(
          ({ instancePath, message, params }) =>
            `${instancePath} ${message} ${JSON.stringify(params)}`,
        )
        .join('\n');
    },
  };
}

/** Objects with listed fields take no others: an answer must not hold what nobody documented. */
function closedDocument<T>(value: T): T {
  if (Array.isArray(value)) return value.map(closedDocument) as T;
  if (value === null || typeof value !== 'object') return value;
  const copy = Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === 'example' || key === 'examples' ? inner : closedDocument(inner),
    ]),
  );
  const isClosable =
    copy.type === 'object' &&
    copy.properties !== undefined &&
    copy.additionalProperties === undefined &&
    copy.patternProperties === undefined;
  return (isClosable ? { ...copy, additionalProperties: false } : copy) as T;
}
