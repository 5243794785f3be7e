import type { ContentKind } from '../../../templates/stored-content.ts';
import { operation } from '../operation.ts';
import { KIND_SCHEMAS, PathKey } from '../schemas/templates.ts';
import { shownTemplate, type TemplateParts } from './shown-template.ts';

/** updateTemplate, updateLayout, updatePartial. */
export function updateTemplate(parts: TemplateParts, kind: ContentKind) {
  const { Noun, noun, path, full, update, updateExample } = KIND_SCHEMAS[kind];
  return operation(
    {
      id: `update${Noun}`,
      method: 'PATCH',
      path: `${path}/{key}`,
      tag: 'Templates',
      summary: `Change the draft of a ${noun}`,
      description:
        'Fields that are given are set, null empties one, all others stay. Sends go on using what ' +
        'is published.',
      scope: 'write:templates',
      params: PathKey,
      body: update,
      examples: { change: { summary: 'One field', value: updateExample } },
      answers: { 200: { description: `The ${noun}, with its draft.`, body: full } },
      refusals: ['not_found'],
    },
    async ({ caller, params, body }) => {
      const fields = body as Record<string, unknown>;
      const template = await parts.templates.change(caller, kind, params.key, fields);
      return { status: 200, body: await shownTemplate(parts, template) };
    },
  );
}
