import { RefusedError } from '../../../lib/refused-error.ts';
import { CONTENT_KINDS } from '../../../templates/content/stored-content.ts';
import { publicContent, publicVersion, variablesOf } from '../../../templates/public-template.ts';
import { type Operation, operation } from '../../operation.ts';
import { KIND_SCHEMAS, PathKeyVersion } from './schemas.ts';
import type { TemplateDeps } from './template-response.ts';

/** Defines getTemplateVersion, getLayoutVersion and getPartialVersion. */
export function getTemplateVersion(deps: TemplateDeps): Operation[] {
  return CONTENT_KINDS.map((kind) => {
    const { Noun, noun, path, version } = KIND_SCHEMAS[kind];
    return operation(
      {
        id: `get${Noun}Version`,
        method: 'GET',
        path: `${path}/{key}/versions/{version}`,
        tag: 'Templates',
        summary: `Retrieve a version of a ${noun}`,
        description: 'Includes all fields as they were published.',
        scope: 'read:templates',
        params: PathKeyVersion,
        responses: { 200: { description: 'The version.', body: version } },
        problems: ['not_found'],
      },
      async ({ caller, params: { key, version: text } }) => {
        if (!/^[1-9][0-9]{0,8}$/.test(text)) {
          throw new RefusedError('not_found', `There is no such version of this ${noun}.`);
        }
        const found = await deps.templates.getVersion(caller, kind, key, Number(text));
        const ref = { workspaceId: caller.workspaceId, kind, key };
        const { content } = found;
        const variables = await variablesOf(deps.templateCache, ref, found.version, content);
        return {
          status: 200,
          body: { ...publicVersion(key, found), ...publicContent(kind, content, variables) },
        };
      },
    );
  });
}
