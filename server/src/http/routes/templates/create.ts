import { Type } from 'typebox';
import { CONTENT_KINDS, type ContentKind } from '../../../templates/content/stored-content.ts';
import { templateFieldErrors } from '../../../templates/template-fields.ts';
import { type Operation, operation } from '../../operation.ts';
import { API_PREFIX } from '../../server/api-prefix.ts';
import { KIND_SCHEMAS } from './schemas.ts';
import { type TemplateDeps, templateResponse } from './template-response.ts';

/** Defines createTemplate, createLayout and createPartial. */
export function createTemplate(deps: TemplateDeps): Operation[] {
  return CONTENT_KINDS.map((kind) => {
    const { Noun, noun, path, full, create, createExample, example } = KIND_SCHEMAS[kind];
    return operation(
      {
        id: `create${Noun}`,
        method: 'POST',
        path,
        tag: 'Templates',
        summary: `Create a ${noun}`,
        description: `${ABOUT[kind]} It starts as a draft, which may be incomplete; sends use it once it is published. Both modes share it.`,
        scope: 'write:templates',
        body: create,
        semanticChecks: (body) => templateFieldErrors(kind, body),
        examples: { draft: { summary: `A ${noun}`, value: createExample } },
        responses: {
          201: {
            description: `The ${noun} with its draft.`,
            body: full,
            // A new one has never been published.
            example: { ...example, published_version: null, published_at: null },
            headers: {
              Location: { description: 'URL of the new resource.', schema: Type.String() },
            },
          },
        },
        location: ({ key }: { key: string }) => `${API_PREFIX}${path}/${key}`,
        problems: ['conflict', 'quota_exceeded'],
      },
      async ({ caller, body }) => {
        const fields = body as Record<string, unknown>;
        const template = await deps.templates.create(caller, kind, fields);
        return { status: 201, body: await templateResponse(deps, template) };
      },
    );
  });
}

const ABOUT: Record<ContentKind, string> = {
  template: 'Stored content for many sends.',
  layout: 'A layout wraps templates, which are inserted at `{{ content }}`.',
  partial: 'A partial is a fragment that templates and layouts share: `{% render "key" %}`.',
};
