import { CONTENT_KINDS } from '../templates/stored-content.ts';
import type { Operation } from './operation.ts';
import { checkTemplate } from './routes/templates/check.ts';
import { compareTemplateVersions } from './routes/templates/compare-versions.ts';
import { createTemplate } from './routes/templates/create.ts';
import { deleteTemplate } from './routes/templates/delete.ts';
import { getTemplate } from './routes/templates/get.ts';
import { getTemplateSchema } from './routes/templates/get-schema.ts';
import { getTemplateVersion } from './routes/templates/get-version.ts';
import { listTemplates } from './routes/templates/list.ts';
import { listTemplateVersions } from './routes/templates/list-versions.ts';
import { publishTemplate } from './routes/templates/publish.ts';
import { type RenderParts, renderTemplate } from './routes/templates/render.ts';
import { testSendTemplate } from './routes/templates/test-send.ts';
import { updateTemplate } from './routes/templates/update.ts';

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
