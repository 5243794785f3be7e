import { Type } from 'typebox';
import { CONTENT_KINDS, type ContentKind } from '../../../templates/content/stored-content.ts';
import type { Template } from '../../../templates/template-store.ts';
import type { Templates } from '../../../templates/templates.ts';
import { closed, LIMIT_DEFAULT, oneOf, PAGE, page } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodeCursor, encodeCursor, invalidCursor } from '../../validation/cursor.ts';

const LIST = '/template-drafts';

const EXAMPLE = {
  kind: 'template',
  key: 'welcome',
  name: 'Welcome',
  fields: {
    subject: 'Welcome, ${first_name}',
    html: '<p>Hello {{ first_name }}, good to have you.</p>',
    variables: [{ name: 'first_name', example: 'Jane' }],
  },
};

const Draft = Type.Object(
  {
    kind: oneOf(CONTENT_KINDS),
    key: Type.String(),
    name: Type.String(),
    fields: Type.Record(Type.String(), Type.Unknown(), {
      description:
        'The fields that are set, exactly as stored: `subject`, `html`, `text`, `from`, ' +
        '`reply_to`, `layout`, `locales` and the declared `variables`.',
    }),
  },
  { title: 'TemplateDraft', examples: [EXAMPLE] },
);

export function listTemplateDrafts(deps: { templates: Templates }): Operation {
  return operation(
    {
      id: 'listTemplateDrafts',
      method: 'GET',
      path: LIST,
      tag: 'Templates',
      summary: 'List drafts',
      description:
        'The drafts of all templates, layouts and partials, ordered by kind and key, with the ' +
        'fields that `POST /template-drafts` takes. A page ends early when its content is large.',
      scope: 'read:templates',
      query: closed(PAGE),
      queryParsers: [draftCursor],
      responses: {
        200: { description: 'A page of drafts.', body: page(Draft, 'TemplateDraftPage') },
      },
    },
    async ({ caller, query }) => {
      const { drafts, hasMore } = await deps.templates.drafts(caller, {
        limit: query.limit ?? LIMIT_DEFAULT,
        after: draftCursor(query),
      });
      const last = drafts.at(-1);
      const next_cursor = hasMore && last ? encodeCursor(LIST, [last.kind, last.key]) : null;
      return { status: 200, body: { data: drafts.map(publicDraft), next_cursor } };
    },
  );
}

function publicDraft({ kind, key, name, draft }: Template) {
  const isSet = (value: unknown): boolean =>
    value !== null && (typeof value !== 'object' || Object.keys(value as object).length > 0);
  const fields = Object.fromEntries(Object.entries(draft).filter(([, value]) => isSet(value)));
  return { kind, key, name, fields };
}

function draftCursor({
  cursor,
}: {
  cursor?: unknown;
}): { kind: ContentKind; key: string } | undefined {
  if (typeof cursor !== 'string') return undefined;
  const [kind, key] = decodeCursor(LIST, cursor, 2);
  const known = CONTENT_KINDS.find((one) => one === kind);
  const isText = typeof key === 'string' && !key.includes('\0') && key.isWellFormed();
  if (!known || !isText) throw invalidCursor();
  return { kind: known, key };
}
