import { openDocument } from './openapi-validator.ts';

/**
 * Holds the body of every answer against the schema that the server's own OpenAPI document gives for
 * it. A field that is missing, of another type, or not described fails the test that got it.
 */
export type AnswerCheck = (method: string, url: string, status: number, json: unknown) => void;

interface Document {
  paths: Record<string, Record<string, { responses: Record<string, Answer> }>>;
}

interface Answer {
  content?: Record<string, object>;
}

export async function answerCheck(base: string): Promise<AnswerCheck> {
  const { document, faultsOf } = await openDocument<Document>(base);
  const paths = Object.keys(document.paths)
    .sort((a, b) => a.split('{').length - b.split('{').length)
    .map((path) => ({ path, pattern: patternOf(path) }));

  return (method, url, status, json) => {
    const asked = url.split('?', 1)[0] as string;
    const found = paths.find(
      ({ path, pattern }) => pattern.test(asked) && document.paths[path]?.[method.toLowerCase()],
    );
    if (!found || status >= 300 || json === undefined) return;
    const { responses } = document.paths[found.path]?.[method.toLowerCase()] ?? {};
    if (!responses?.[status]?.content?.['application/json']) {
      throw new Error(`${method} ${asked} answered ${status}, which is not documented`);
    }
    const pointer = `#/paths/${escaped(found.path)}/${method.toLowerCase()}/responses/${status}/content/application~1json/schema`;
    const faults = faultsOf(pointer, json);
    if (faults === undefined) return;
    throw new Error(
      `${method} ${asked} answered ${status} with a body that is not as documented:\n${faults}`,
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
