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
      summary: 'Check a template draft',
      description:
        'Returns what publishing would report: syntax, paths, missing translations, links, ' +
        'images, sizes, and CSS that major email clients do not support. Changes nothing.',
      scope: 'read:templates',
      notAudited: 'changes nothing',
      params: PathKey,
      responses: { 200: { description: 'The findings.', body: Checked } },
      problems: ['not_found'],
    },
    async ({ caller, params }) => {
      const findings = await deps.templates.check(caller, 'template', params.key);
      return { status: 200, body: checkedOf(findings) };
    },
  );
}
