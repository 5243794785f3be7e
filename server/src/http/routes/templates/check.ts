import type { Templates } from '../../../templates/templates.ts';
import { type Operation, operation } from '../../operation.ts';
import { checkedOf } from '../transactional/check.ts';
import { Checked } from './finding-schemas.ts';
import { PathKey } from './schemas.ts';

export function checkTemplate(deps: { templates: Templates }): Operation {
  return operation(
    {
      id: 'checkTemplate',
      method: 'POST',
      path: '/templates/{key}/check',
      tag: 'Templates',
      summary: 'Check the draft of a template',
      description:
        'What publishing it would say: syntax, paths, missing translations, links, images, sizes and ' +
        'CSS that large mail clients do not know. Nothing is changed.',
      scope: 'read:templates',
      params: PathKey,
      responses: { 200: { description: 'What was found.', body: Checked } },
      problems: ['not_found'],
    },
    async ({ caller, params }) => {
      const findings = await deps.templates.check(caller, 'template', params.key);
      return { status: 200, body: checkedOf(findings) };
    },
  );
}
