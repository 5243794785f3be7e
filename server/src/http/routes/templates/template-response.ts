import { Type } from 'typebox';
import { publicTemplate, variablesOf } from '../../../templates/public-template.ts';
import type { TemplateCache } from '../../../templates/template-cache.ts';
import type { Template } from '../../../templates/template-store.ts';
import type { Templates } from '../../../templates/templates.ts';
import type { OperationResponse } from '../../operation.ts';

export interface TemplateDeps {
  templates: Templates;
  templateCache: TemplateCache;
}

/**
 * Returns a template as the API shows it: its draft, with the variables inferred from its
 * placeholders.
 */
export async function templateResponse(deps: TemplateDeps, template: Template) {
  const { templateCache } = deps;
  const variables = await variablesOf(templateCache, template, 'draft', template.draft);
  return publicTemplate(template, variables);
}

export const ETAG = {
  ETag: { description: 'The `etag` of the draft.', schema: Type.String() },
};

export function draftResponse(
  body: Awaited<ReturnType<typeof templateResponse>>,
): OperationResponse {
  return { status: 200, body, headers: { etag: body.etag } };
}

/** Parses a version parameter: a number, or the draft. */
export function parseVersion(text: string | undefined): number | 'draft' | undefined {
  if (text === undefined || text === 'draft') return text;
  return Number(text);
}
