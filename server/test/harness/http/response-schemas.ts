import { openapiValidator } from './openapi-validator.ts';

/**
 * Validates the body of every successful response against the server's own OpenAPI document. A field
 * that is missing, of another type, or undocumented fails the test that received it.
 */
export type ResponseCheck = (method: string, url: string, status: number, json: unknown) => void;

interface Document {
  paths: Record<string, Record<string, { responses: Record<string, DocumentedResponse> }>>;
}

interface DocumentedResponse {
  content?: Record<string, object>;
}

let known: Promise<ResponseCheck> | undefined;

/** The same for all servers of a worker, as the validator is. */
export function createResponseCheck(baseUrl: string): Promise<ResponseCheck> {
  known ??= newResponseCheck(baseUrl);
  return known;
}

async function newResponseCheck(baseUrl: string): Promise<ResponseCheck> {
  const { document, errorsFor } = await openapiValidator<Document>(baseUrl);
  const paths = Object.keys(document.paths)
    .sort((a, b) => a.split('{').length - b.split('{').length)
    .map((path) => ({ path, pattern: patternOf(path) }));

  return (method, url, status, json) => {
    const requested = url.split('?', 1)[0] as string;
    const found = paths.find(
      ({ path, pattern }) =>
        pattern.test(requested) && document.paths[path]?.[method.toLowerCase()],
    );
    if (!found || status >= 300 || json === undefined) return;
    const { responses } = document.paths[found.path]?.[method.toLowerCase()] ?? {};
    if (!responses?.[status]?.content?.['application/json']) {
      throw new Error(`${method} ${requested} returned ${status}, which is not documented`);
    }
    const pointer = `#/paths/${escaped(found.path)}/${method.toLowerCase()}/responses/${status}/content/application~1json/schema`;
    const errors = errorsFor(pointer, json);
    if (errors === undefined) return;
    throw new Error(
      `${method} ${requested} returned ${status} with a body that does not match its schema:\n${errors}`,
    );
  };
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}

/** A JSON Pointer inside a URI: braces have to be escaped as well. */
function escaped(path: string): string {
  return encodeURIComponent(path.replaceAll('~', '~0').replaceAll('/', '~1'));
}
