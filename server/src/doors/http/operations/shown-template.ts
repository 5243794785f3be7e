import { publicTemplate, variablesOf } from '../../../templates/public-template.ts';
import type { TemplateDirectory } from '../../../templates/template-directory.ts';
import type { Template } from '../../../templates/template-store.ts';
import type { Templates } from '../../../templates/templates.ts';

export interface TemplateParts {
  templates: Templates;
  templateDirectory: TemplateDirectory;
}

/** A template as the API shows it: its draft, with what its placeholders tell of its variables. */
export async function shownTemplate(parts: TemplateParts, template: Template) {
  const { templateDirectory } = parts;
  const variables = await variablesOf(templateDirectory, template, 'draft', template.draft);
  return publicTemplate(template, variables);
}

/** A version as a parameter: its number, or the draft. */
export function versionOf(text: string | undefined): number | 'draft' | undefined {
  if (text === undefined || text === 'draft') return text;
  return Number(text);
}
