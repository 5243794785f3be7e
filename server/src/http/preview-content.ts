import { Type } from 'typebox';
import type { Clock } from '../lib/time/clock.ts';
import { checkInlineContent } from '../templates/checks/check-template.ts';
import { CompiledTemplate } from '../templates/compile-template.ts';
import { EMPTY_CONTENT } from '../templates/content/stored-content.ts';
import { exampleValues } from '../templates/preview-template.ts';
import { publicFinding } from '../templates/public-template.ts';
import { closed } from './openapi/shared-schemas.ts';
import { type Operation, operation } from './operation.ts';
import { previewOf } from './routes/templates/render.ts';

/**
 * Checks content that is not stored and renders it like a template without layout and partials. It has
 * no path of its own: other surfaces call it.
 */
export function previewContent(deps: { clock: Clock }): Operation {
  return operation(
    {
      id: 'previewContent',
      method: 'POST',
      path: '',
      tag: 'Templates',
      summary: 'Check and render content',
      scope: 'read:templates',
      notAudited: 'changes nothing',
      body: closed({
        subject: Type.String({ maxLength: 2000 }),
        html: Type.Union([Type.String(), Type.Null()]),
        text: Type.Union([Type.String(), Type.Null()]),
        variables: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
      }),
      responses: { 200: { description: 'The errors, or the rendered content.' } },
    },
    async ({ caller, body }) => {
      const { subject, html, text, variables } = body;
      const findings = checkInlineContent({
        subject,
        ...(html === null ? {} : { html }),
        ...(text === null ? {} : { text }),
      });
      const errors = findings.filter(({ severity }) => severity === 'error').map(publicFinding);
      if (errors.length > 0) return { status: 200, body: { errors } };
      const template = new CompiledTemplate({
        key: '',
        version: 'draft',
        template: { ...EMPTY_CONTENT, subject, html, text },
        layout: undefined,
        partials: new Map(),
      });
      const values = variables ?? exampleValues(template);
      const { workspaceId } = caller;
      const rendered = await previewOf(
        workspaceId,
        template,
        { variables: values },
        deps.clock.now(),
      );
      return {
        status: 200,
        body: { errors, rendered, variables: { ...exampleValues(template), ...values } },
      };
    },
  );
}
