import { Type } from 'typebox';
import { publicPublication } from '../../../templates/public-template.ts';
import { CONTENT_KINDS } from '../../../templates/stored-content.ts';
import type { Templates } from '../../../templates/templates.ts';
import { closed } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { Publication } from './finding-schemas.ts';
import { KIND_SCHEMAS, PathKey } from './schemas.ts';

const Publish = closed(
  {
    version: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: 'An old version to publish again; it keeps its number. Default: the draft.',
      }),
    ),
    note: Type.Optional(
      Type.String({ maxLength: 1000, description: 'Why; kept with the version.' }),
    ),
  },
  { title: 'Publish' },
);

/** publishTemplate, publishLayout, publishPartial. */
export function publishTemplate(deps: { templates: Templates }): Operation[] {
  return CONTENT_KINDS.map((kind) => {
    const { Noun, noun, path } = KIND_SCHEMAS[kind];
    return operation(
      {
        id: `publish${Noun}`,
        method: 'POST',
        path: `${path}/{key}/publish`,
        tag: 'Templates',
        summary: `Publish a ${noun}`,
        description:
          'The draft becomes the next version, which never changes again; or an old version is ' +
          'published again, which takes a bad one back. Sends that are accepted from now on use it, in ' +
          'both modes. It is checked first: errors refuse with their places, warnings come with the ' +
          'answer. With `If-Match` it is refused when the draft is no longer the one that was looked at.',
        scope: 'write:templates',
        params: PathKey,
        body: Publish,
        examples: {
          draft: { summary: 'The draft', value: { note: 'Friendlier words' } },
          back: { summary: 'Back to an old version', value: { version: 2 } },
        },
        supportsIfMatch: true,
        responses: { 200: { description: 'It is published.', body: Publication } },
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
