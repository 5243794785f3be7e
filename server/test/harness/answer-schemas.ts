import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

/**
 * Holds the body of every answer against the schema that the server's own OpenAPI document gives for
 * it. A field that is missing, of another type, or not described fails the test that got it.
 */
export type AnswerCheck = (method: string, url: string, status: number, json: unknown) => void;

interface Media {
  schema: object;
}

interface Document {
  paths: Record<string, Record<string, { responses: Record<string, Answer> }>>;
  components: { responses: Record<string, Answer>; schemas: Record<string, object> };
}

interface Answer {
  $ref?: string;
  content?: Record<string, Media>;
}

export async function answerCheck(base: string): Promise<AnswerCheck> {
  const response = await fetch(`${base}/api/v1/openapi.json`);
  const document = (await response.json()) as Document;
  const ajv = new Ajv2020({
    strict: false,
    validateFormats: false,
    validateSchema: false,
    allErrors: true,
  });
  ajv.addSchema(closedDocument(document), 'document');
  const validators = new Map<string, ValidateFunction>();
  const paths = Object.keys(document.paths)
    .sort((a, b) => a.split('{').length - b.split('{').length)
    .map((path) => ({ path, pattern: patternOf(path) }));

  return (method, url, status, json) => {
    const asked = url.split('?', 1)[0] as string;
    const found = paths.find(
      ({ path, pattern }) => pattern.test(asked) && document.paths[path]?.[method.toLowerCase()],
    );
    if (!found || status >= 300 || json === undefined) return;
    const pointer = `#/paths/${escaped(found.path)}/${method.toLowerCase()}/responses/${status}/content/application~1json/schema`;
    const described =
      document.paths[found.path]?.[method.toLowerCase()]?.responses[status]?.content?.[
        'application/json'
      ];
    if (!described)
      throw new Error(`${method} ${asked} answered ${status}, which is not documented`);
    let validate = validators.get(pointer);
    if (!validate) {
      validate = ajv.compile({ $ref: `document${pointer}` });
      validators.set(pointer, validate);
    }
    if (validate(json)) return;
    const faults = validate.errors?.map(
      (error) => `${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`,
    );
    throw new Error(
      `${method} ${asked} answered ${status} with a body that is not as documented:\n${faults?.join('\n')}`,
    );
  };
}

/** Objects with listed fields take no others: an answer must not hold what nobody documented. */
export function closedDocument<T>(value: T): T {
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

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}

/** A JSON Pointer inside a URI: braces have to be escaped as well. */
function escaped(path: string): string {
  return encodeURIComponent(path.replaceAll('~', '~0').replaceAll('/', '~1'));
}
