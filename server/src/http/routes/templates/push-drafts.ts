import { type TSchema, Type } from 'typebox';
import { isTestKey } from '../../../accounts/caller.ts';
import { RefusedError } from '../../../lib/refused-error.ts';
import { CONTENT_KINDS } from '../../../templates/content/stored-content.ts';
import { publicPushResult } from '../../../templates/public-template.ts';
import type { PushedTemplate } from '../../../templates/push-templates.ts';
import type { Templates } from '../../../templates/templates.ts';
import { closed, oneOf } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { Finding } from './finding-schemas.ts';
import { KIND_SCHEMAS } from './schemas.ts';

/** Each item is checked within the same transaction. */
const ITEMS_MAX = 500;

/** By key, so that the pointer of an error names the item: `/templates/welcome/html`. */
function itemsByKey(push: TSchema, plural: string): TSchema {
  return Type.Optional(
    Type.Record(Type.String(), push, {
      maxProperties: ITEMS_MAX,
      description: `The ${plural} by key. An absent field is empty.`,
    }),
  );
}

const Push = closed(
  {
    templates: itemsByKey(KIND_SCHEMAS.template.push, 'templates'),
    layouts: itemsByKey(KIND_SCHEMAS.layout.push, 'layouts'),
    partials: itemsByKey(KIND_SCHEMAS.partial.push, 'partials'),
    publish: Type.Optional(
      Type.Boolean({
        description: 'Publish the items with unpublished changes. Requires a live key.',
      }),
    ),
    note: Type.Optional(
      Type.String({ maxLength: 1000, description: 'A note that is stored with the versions.' }),
    ),
  },
  { title: 'PushTemplateDrafts' },
);

const RESULT = {
  kind: 'template',
  key: 'welcome',
  draft: 'changed',
  published_version: 3,
  warnings: [],
};

const PushResults = Type.Object(
  {
    data: Type.Array(
      Type.Object({
        kind: oneOf(CONTENT_KINDS),
        key: Type.String(),
        draft: oneOf(['created', 'changed', 'unchanged']),
        published_version: Type.Union([Type.Integer(), Type.Null()], {
          description: 'The version that this request published. Null: none.',
        }),
        warnings: Type.Array(Finding),
      }),
    ),
  },
  { title: 'PushedTemplateDrafts', examples: [{ data: [RESULT] }] },
);

export function pushTemplateDrafts(deps: { templates: Templates }): Operation {
  return operation(
    {
      id: 'pushTemplateDrafts',
      method: 'POST',
      path: '/template-drafts',
      tag: 'Templates',
      summary: 'Push drafts',
      description:
        'Creates or replaces many drafts in one transaction, for templates that are kept as files ' +
        '(`postrider templates push`). Everything is checked first, as if published together: ' +
        'with any error, nothing changes. Items that are not in the request stay as they are.',
      scope: 'write:templates',
      body: Push,
      examples: {
        welcome: {
          summary: 'A template and the partial that it uses',
          value: {
            templates: {
              welcome: {
                subject: 'Welcome, ${first_name}',
                html: '<p>Hello {{ first_name }}!</p>{% render "footer" %}',
              },
            },
            partials: { footer: { html: '<p>Example Ltd., 1 High Street</p>' } },
            publish: true,
            note: 'Friendlier wording',
          },
        },
      },
      responses: { 200: { description: 'The result for each item.', body: PushResults } },
      problems: ['wrong_mode', 'quota_exceeded', 'template_syntax', 'template_limit'],
    },
    async ({ caller, body }) => {
      const { publish = false, note } = body;
      if (publish && isTestKey(caller)) {
        const detail = 'Publishing changes what live mail uses, so it requires a live key.';
        throw new RefusedError('wrong_mode', detail);
      }
      const results = await deps.templates.push(caller, itemsOf(body), { publish, note });
      return { status: 200, body: { data: results.map(publicPushResult) } };
    },
  );
}

type Items = Record<string, Record<string, unknown>>;

function itemsOf(body: object): PushedTemplate[] {
  return CONTENT_KINDS.flatMap((kind) => {
    const items = (body as Record<string, Items | undefined>)[`${kind}s`] ?? {};
    return Object.entries(items).map(([key, fields]) => ({ kind, key, fields }));
  });
}
