import type { ContentKind } from '../../../templates/stored-content.ts';
import { operation } from '../../operation.ts';
import { KIND_SCHEMAS, PathKey } from './schemas.ts';
import { ETAG, replyWithDraft, shownTemplate, type TemplateParts } from './template-response.ts';

/** getTemplate, getLayout, getPartial. */
export function getTemplate(parts: TemplateParts, kind: ContentKind) {
  const { Noun, noun, path, full } = KIND_SCHEMAS[kind];
  return operation(
    {
      id: `get${Noun}`,
      method: 'GET',
      path: `${path}/{key}`,
      tag: 'Templates',
      summary: `Look a ${noun} up`,
      description:
        'With its draft. What sends use is the version that `published_version` names: ' +
        `\`GET ${path}/{key}/versions/{version}\`.`,
      scope: 'read:templates',
      params: PathKey,
      answers: { 200: { description: `The ${noun}, with its draft.`, body: full, headers: ETAG } },
      refusals: ['not_found'],
    },
    async ({ caller, params }) => {
      const template = await parts.templates.get(caller, kind, params.key);
      return replyWithDraft(await shownTemplate(parts, template));
    },
  );
}
