import { CONTENT_KINDS } from '../../templates/stored-content.ts';
import type { Operation } from './operation.ts';
import { checkTemplate } from './operations/check-template.ts';
import { compareTemplateVersions } from './operations/compare-template-versions.ts';
import { createTemplate } from './operations/create-template.ts';
import { deleteTemplate } from './operations/delete-template.ts';
import { getTemplate } from './operations/get-template.ts';
import { getTemplateSchema } from './operations/get-template-schema.ts';
import { getTemplateVersion } from './operations/get-template-version.ts';
import { listTemplateVersions } from './operations/list-template-versions.ts';
import { listTemplates } from './operations/list-templates.ts';
import { publishTemplate } from './operations/publish-template.ts';
import { type RenderParts, renderTemplate } from './operations/render-template.ts';
import { testSendTemplate } from './operations/test-send-template.ts';
import { updateTemplate } from './operations/update-template.ts';

export type TemplateOperationParts = RenderParts & Parameters<typeof testSendTemplate>[0];

/** Templates, layouts and partials: what they have in common, and what only templates can do. */
export function templateOperations(parts: TemplateOperationParts): Operation[] {
  return CONTENT_KINDS.flatMap((kind) => [
    listTemplates(parts, kind),
    createTemplate(parts, kind),
    getTemplate(parts, kind),
    updateTemplate(parts, kind),
    deleteTemplate(parts, kind),
    publishTemplate(parts, kind),
    listTemplateVersions(parts, kind),
    getTemplateVersion(parts, kind),
    ...(kind === 'template'
      ? [
          compareTemplateVersions(parts),
          renderTemplate(parts),
          checkTemplate(parts),
          getTemplateSchema(parts),
          testSendTemplate(parts),
        ]
      : []),
  ]);
}
