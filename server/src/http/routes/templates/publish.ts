import { Type } from 'typebox';
import { CONTENT_KINDS } from '../../../templates/content/stored-content.ts';
import { publicPublication } from '../../../templates/public-template.ts';
import type { Templates } from '../../../templates/templates.ts';
import { closed } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { PUBLICATION, Publication } from './finding-schemas.ts';
import { KIND_SCHEMAS, PathKey } from './schemas.ts';

const Publish = closed(
  {
    version: Type.Optional(
      Type.Integer({
        minimum: 1,
        description:
          'An earlier version to publish again; it keeps its number. Default: the draft.',
      }),
    ),
    note: Type.Optional(
      Type.String({ maxLength: 1000, description: 'A note that is stored with the version.' }),
    ),
  },
  { title: 'Publish' },
);

const TOUCHES = [{ key: 'welcome', version: 3, new_variables: [] }];

/** Defines publishTemplate, publishLayout and publishPartial. */
export function publishTemplate(deps: { templates: Templates }): Operation[] {
  return CONTENT_KINDS.map((kind) => {
    const { Noun, noun, path, example } = KIND_SCHEMAS[kind];
    return operation(
      {
        id: `publish${Noun}`,
        method: 'POST',
        path: `${path}/{key}/publish`,
        tag: 'Templates',
        summary: `Publish a ${noun}`,
        description:
          'The draft becomes the next version, which is immutable; or an earlier version is ' +
          'published again to roll back. Sends accepted from now on use it, in both modes. The ' +
          'content is checked first: errors fail the request with their positions, and warnings ' +
          'are returned in the response. With `If-Match`, the request fails if the draft has ' +
          'changed.',
        scope: 'write:templates',
        mode: 'live',
        params: PathKey,
        body: Publish,
        examples: {
          draft: { summary: 'The draft', value: { note: 'Friendlier wording' } },
          back: { summary: 'Roll back to an earlier version', value: { version: 2 } },
        },
        supportsIfMatch: true,
        responses: {
          200: {
            description: 'It was published.',
            body: Publication,
            example: {
              ...PUBLICATION,
              key: example.key,
              version: example.published_version,
              ...(kind === 'template' ? {} : { touches: TOUCHES }),
            },
          },
        },
        problems: ['not_found', 'template_syntax', 'template_limit'],
      },
      async ({ caller, params, body, ifMatch }) => {
        const publication = await deps.templates.publish(caller, kind, params.key, {
          ...(body.version === undefined ? {} : { version: body.version }),
          expected: ifMatch,
          ...(body.note === undefined ? {} : { note: body.note }),
        });
        return { status: 200, body: publicPublication(publication) };
      },
    );
  });
}
