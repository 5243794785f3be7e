import { Type } from 'typebox';
import { isTestKey } from '../../../accounts/caller.ts';
import { CONTENT_KINDS } from '../../../templates/content/stored-content.ts';
import type { Templates } from '../../../templates/templates.ts';
import { closed } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { KIND_SCHEMAS, PathKey } from './schemas.ts';

/** Defines deleteTemplate, deleteLayout and deletePartial. */
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
            ? 'Deletes all versions permanently. Fails with `conflict` while scheduled messages use the template, unless forced; those messages are still sent as they were rendered. Test keys can delete only what was never published.'
            : `Deletes all versions permanently. Fails with \`conflict\` while published templates, layouts or partials use it, unless forced; those can no longer be sent. Test keys can delete only what was never published.`,
        scope: 'write:templates',
        params: PathKey,
        query: closed({
          force: Type.Optional(Type.Boolean({ description: 'Delete it even if it is in use.' })),
        }),
        responses: { 204: { description: 'It was deleted.' } },
        problems: ['not_found', 'conflict', 'wrong_mode'],
      },
      async ({ caller, params, query }) => {
        const force = query.force ?? false;
        const byTestKey = isTestKey(caller);
        await deps.templates.remove(caller, kind, params.key, { force, byTestKey });
        return { status: 204 };
      },
    );
  });
}
