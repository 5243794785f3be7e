import { Type } from 'typebox';
import { checkInlineContent } from '../../../templates/checks/check-template.ts';
import { hasErrors, type TemplateFinding } from '../../../templates/checks/template-finding.ts';
import { publicFinding } from '../../../templates/public-template.ts';
import { closed } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { Checked } from '../templates/finding-schemas.ts';

const InlineContent = closed(
  {
    subject: Type.Optional(Type.String({ maxLength: 2000 })),
    html: Type.String({ examples: ['<p>Hello {{ first_name }}</p>'] }),
    text: Type.Optional(Type.String()),
  },
  { title: 'InlineContent' },
);

export function checkTransactional(): Operation {
  return operation(
    {
      id: 'checkTransactional',
      method: 'POST',
      path: '/transactional/check',
      tag: 'Sending',
      summary: 'Check inline content',
      description: 'Runs the checks of publishing on inline content. Nothing is stored or sent.',
      scope: 'read:templates',
      notAudited: 'changes nothing',
      body: InlineContent,
      examples: {
        inline: {
          summary: 'Inline content',
          value: {
            subject: 'Welcome, ${first_name}',
            html: '<p>Hello {{ first_name }}, good to have you.</p>',
          },
        },
      },
      responses: { 200: { description: 'The findings.', body: Checked } },
    },
    ({ body }) => ({ status: 200, body: checkedOf(checkInlineContent(body)) }),
  );
}

export function checkedOf(findings: readonly TemplateFinding[]) {
  const of = (severity: TemplateFinding['severity']) =>
    findings.filter((finding) => finding.severity === severity).map(publicFinding);
  return { ok: !hasErrors(findings), errors: of('error'), warnings: of('warning') };
}
