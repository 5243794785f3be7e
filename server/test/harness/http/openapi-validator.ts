import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

/** Validates JSON against the schemas in the OpenAPI document of a running server. */
export interface OpenapiValidator<T> {
  document: T;
  /** Validation errors of a value against the schema at this JSON pointer; undefined if it is valid. */
  errorsFor(pointer: string, value: unknown): string | undefined;
}

let known: Promise<OpenapiValidator<object>> | undefined;

/**
 * Read once per worker: writing the document takes longer than starting a server, and the documents
 * of two servers differ only in their own address.
 */
export async function openapiValidator<T extends object>(
  baseUrl: string,
): Promise<OpenapiValidator<T>> {
  known ??= readDocument(baseUrl).then(createValidator);
  return known as Promise<OpenapiValidator<T>>;
}

async function readDocument(baseUrl: string): Promise<object> {
  const response = await fetch(`${baseUrl}/api/v1/openapi.json`);
  return (await response.json()) as object;
}

function createValidator(document: object): OpenapiValidator<object> {
  const ajv = new Ajv2020({
    strict: false,
    validateFormats: false,
    validateSchema: false,
    allErrors: true,
  });
  ajv.addSchema(closeObjects(document), 'document');
  const compiled = new Map<string, ValidateFunction>();
  return {
    document,
    errorsFor(pointer, value) {
      const validate = compiled.get(pointer) ?? ajv.compile({ $ref: `document${pointer}` });
      compiled.set(pointer, validate);
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

/** Disallows additional properties in all objects with listed properties, so that undocumented fields fail. */
function closeObjects<T>(value: T): T {
  if (Array.isArray(value)) return value.map(closeObjects) as T;
  if (value === null || typeof value !== 'object') return value;
  const copy = Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === 'example' || key === 'examples' ? inner : closeObjects(inner),
    ]),
  );
  const isClosable =
    copy.type === 'object' &&
    copy.properties !== undefined &&
    copy.additionalProperties === undefined &&
    copy.patternProperties === undefined;
  return (isClosable ? { ...copy, additionalProperties: false } : copy) as T;
}
