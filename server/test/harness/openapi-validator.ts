import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

/** Validates JSON against the schemas in the OpenAPI document of a running server. */
export interface OpenapiValidator<T> {
  document: T;
  /** Validation errors of a value against the schema at this JSON pointer; undefined if it is valid. */
  errorsFor(pointer: string, value: unknown): string | undefined;
}

/** By document text: building a validator takes longer than starting a server. */
const validators = new Map<string, OpenapiValidator<object>>();

export async function openapiValidator<T extends object>(
  baseUrl: string,
): Promise<OpenapiValidator<T>> {
  const response = await fetch(`${baseUrl}/api/v1/openapi.json`);
  const text = await response.text();
  const validator = validators.get(text) ?? createValidator(JSON.parse(text) as object);
  validators.set(text, validator);
  return validator as OpenapiValidator<T>;
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
