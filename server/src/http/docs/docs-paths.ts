/** The paths of documentation pages. */

export const DOCS = '/docs';

/** The page of a problem, which the `type` of every problem names. */
export function errorPath(code: string): string {
  return `${DOCS}/errors/${code.replaceAll('_', '-')}`;
}

/** The page of a resource: a tag of the OpenAPI document. */
export function resourcePath(tag: string): string {
  return `${DOCS}/api/${tag
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')}`;
}

export function eventAnchor(type: string): string {
  return type.replaceAll(/[._]/g, '-');
}
