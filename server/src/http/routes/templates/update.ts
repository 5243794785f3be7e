import { CONTENT_KINDS } from '../../../templates/content/stored-content.ts';
import { templateFieldErrors } from '../../../templates/template-fields.ts';
import { type Operation, operation } from '../../operation.ts';
import { KIND_SCHEMAS, PathKey } from './schemas.ts';
import { draftResponse, ETAG, type TemplateDeps, templateResponse } from './template-response.ts';

/** Defines updateTemplate, updateLayout and updatePartial. */
export function updateTemplate(deps: TemplateDeps): Operation[] {
  return CONTENT_KINDS.map((kind) => {
    const { Noun, noun, path, full, update, updateExample } = KIND_SCHEMAS[kind];
    return operation(
      {
        id: `update${Noun}`,
        method: 'PATCH',
        path: `${path}/{key}`,
        tag: 'Templates',
        summary: `Update the draft of a ${noun}`,
        description:
          'Given fields are set, null clears a field, and all others are kept. Sends keep using ' +
          'the published version. With `If-Match`, the request fails if someone else has changed ' +
          'the draft.',
        scope: 'write:templates',
        params: PathKey,
        body: update,
        semanticChecks: (body) => templateFieldErrors(kind, body),
        examples: { change: { summary: 'One field', value: updateExample } },
        supportsIfMatch: true,
        responses: {
          200: { description: `The ${noun} with its draft.`, body: full, headers: ETAG },
        },
        problems: ['not_found'],
      },
      async ({ caller, params, body, ifMatch }) => {
        const fields = body as Record<string, unknown>;
        const template = await deps.templates.change(caller, kind, params.key, fields, ifMatch);
        return draftResponse(await templateResponse(deps, template));
      },
    );
  });
}
