import { Type } from 'typebox';
import { CONTENT_KINDS } from '../../../templates/stored-content.ts';
import type { Templates } from '../../../templates/templates.ts';
import { closed } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { KIND_SCHEMAS, PathKey } from './schemas.ts';

/** deleteTemplate, deleteLayout, deletePartial. */
export function deleteTemplate(deps: { templates: Templates }): Operation[] {
  return CONTENT_KINDS.map((kind) => {
    const { Noun, noun, path } = KIND_SCHEMAS[kind];
    return operation(
      {
        id: `delete${Noun}`,
        method: 'DELETE',
        path: `${path}/{key}`,
        tag: 'Templates',
        summary: `Delete a ${noun}`,
        description:
          kind === 'template'
            ? 'With all its versions, for good. Refused with `conflict` while messages that were made from it are scheduled, unless forced; they are sent as they were made.'
            : `With all its versions, for good. Refused with \`conflict\` while published templates, layouts or partials use it, unless forced; they cannot be sent then.`,
        scope: 'write:templates',
        params: PathKey,
        query: closed({
          force: Type.Optional(Type.Boolean({ description: 'Delete it although it is needed.' })),
        }),
        responses: { 204: { description: 'It is gone.' } },
        problems: ['not_found', 'conflict'],
      },
      async ({ caller, params, query }) => {
        const force = query.force ?? false;
        await deps.templates.remove(caller, kind, params.key, { force });
        return { status: 204 };
      },
    );
  });
}
