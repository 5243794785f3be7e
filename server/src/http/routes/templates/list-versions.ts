import { CONTENT_KINDS } from '../../../templates/content/stored-content.ts';
import { publicVersion } from '../../../templates/public-template.ts';
import type { Templates } from '../../../templates/templates.ts';
import { closed, LIMIT_DEFAULT, PAGE } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodeCursor, invalidCursor, toPage } from '../../validation/cursor.ts';
import { KIND_SCHEMAS, PathKey } from './schemas.ts';

/** Defines listTemplateVersions, listLayoutVersions and listPartialVersions. */
export function listTemplateVersions(deps: { templates: Templates }): Operation[] {
  return CONTENT_KINDS.map((kind) => {
    const { Noun, noun, path, versions } = KIND_SCHEMAS[kind];
    return operation(
      {
        id: `list${Noun}Versions`,
        method: 'GET',
        path: `${path}/{key}/versions`,
        tag: 'Templates',
        summary: `List versions of a ${noun}`,
        description: 'Newest first, with the author, time and note of each publication.',
        scope: 'read:templates',
        params: PathKey,
        query: closed(PAGE),
        responses: { 200: { description: 'A page of versions.', body: versions } },
        problems: ['not_found'],
      },
      async ({ caller, params, query }) => {
        const list = `${path}/${params.key}/versions`;
        const limit = query.limit ?? LIMIT_DEFAULT;
        const before = versionCursor(list, query.cursor);
        const found = await deps.templates.listVersions(caller, kind, params.key, {
          limit: limit + 1,
          ...(before === undefined ? {} : { before }),
        });
        const { rows, next_cursor } = toPage(list, found, limit, ({ version }) => [version]);
        const data = rows.map((version) => publicVersion(params.key, version));
        return { status: 200, body: { data, next_cursor } };
      },
    );
  });
}

function versionCursor(list: string, cursor: string | undefined): number | undefined {
  if (cursor === undefined) return undefined;
  const [version] = decodeCursor(list, cursor, 1);
  if (typeof version !== 'number' || version < 1 || version > 2 ** 31 - 1) throw invalidCursor();
  return version;
}
