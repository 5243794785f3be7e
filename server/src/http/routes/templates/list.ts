import { CONTENT_KINDS } from '../../../templates/content/stored-content.ts';
import { publicSummary } from '../../../templates/public-template.ts';
import type { Templates } from '../../../templates/templates.ts';
import { closed, LIMIT_DEFAULT, PAGE, searchQuery } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { toPage, uuidCursor } from '../../validation/cursor.ts';
import { KIND_SCHEMAS } from './schemas.ts';

/** Defines listTemplates, listLayouts and listPartials. */
export function listTemplates(deps: { templates: Templates }): Operation[] {
  return CONTENT_KINDS.map((kind) => {
    const { Noun, noun, path, summaries } = KIND_SCHEMAS[kind];
    return operation(
      {
        id: `list${Noun}s`,
        method: 'GET',
        path,
        tag: 'Templates',
        summary: `List ${noun}s`,
        description: `Newest first, without their content. Live and test keys see the same ${noun}s.`,
        scope: 'read:templates',
        query: closed({
          ...PAGE,
          q: searchQuery('Search text for the key, the name or the subject of the draft.'),
        }),
        queryParsers: [(query) => uuidCursor(path, query)],
        responses: { 200: { description: `A page of ${noun}s.`, body: summaries } },
      },
      async ({ caller, query }) => {
        const limit = query.limit ?? LIMIT_DEFAULT;
        const before = uuidCursor(path, query);
        const found = await deps.templates.list(caller, kind, {
          limit: limit + 1,
          ...(before === undefined ? {} : { before }),
          ...(query.q === undefined ? {} : { text: query.q }),
        });
        const { rows, next_cursor } = toPage(path, found, limit, ({ id }) => [id]);
        return { status: 200, body: { data: rows.map(publicSummary), next_cursor } };
      },
    );
  });
}
