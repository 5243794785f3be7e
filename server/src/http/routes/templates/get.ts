import { CONTENT_KINDS } from '../../../templates/content/stored-content.ts';
import { type Operation, operation } from '../../operation.ts';
import { KIND_SCHEMAS, PathKey } from './schemas.ts';
import { draftResponse, ETAG, type TemplateDeps, templateResponse } from './template-response.ts';

/** Defines getTemplate, getLayout and getPartial. */
export function getTemplate(deps: TemplateDeps): Operation[] {
  return CONTENT_KINDS.map((kind) => {
    const { Noun, noun, path, full } = KIND_SCHEMAS[kind];
    return operation(
      {
        id: `get${Noun}`,
        method: 'GET',
        path: `${path}/{key}`,
        tag: 'Templates',
        summary: `Retrieve a ${noun}`,
        description:
          'Includes the draft. Sends use the version named by `published_version`: ' +
          `\`GET ${path}/{key}/versions/{version}\`.`,
        scope: 'read:templates',
        params: PathKey,
        responses: {
          200: { description: `The ${noun} with its draft.`, body: full, headers: ETAG },
        },
        problems: ['not_found'],
      },
      async ({ caller, params }) => {
        const template = await deps.templates.get(caller, kind, params.key);
        return draftResponse(await templateResponse(deps, template));
      },
    );
  });
}
