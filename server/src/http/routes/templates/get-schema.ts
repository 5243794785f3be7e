import { Type } from 'typebox';
import { closed } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { PathKey, VersionParameter } from './schemas.ts';
import { parseVersion, type TemplateDeps } from './template-response.ts';

const JsonSchema = Type.Record(Type.String(), Type.Unknown(), {
  title: 'VariablesSchema',
  description: 'A JSON Schema (2020-12).',
  examples: [
    {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: { first_name: { type: ['string', 'number', 'boolean'], examples: ['Jane'] } },
      required: ['first_name'],
    },
  ],
});

export function getTemplateSchema(deps: TemplateDeps): Operation {
  return operation(
    {
      id: 'getTemplateSchema',
      method: 'GET',
      path: '/templates/{key}/schema',
      tag: 'Templates',
      summary: 'Retrieve the JSON Schema of a template’s variables',
      description:
        'The schema that `template_variables` of a send is validated against. Default: the ' +
        'published version, or the draft if none is published.',
      scope: 'read:templates',
      params: PathKey,
      query: closed({ version: Type.Optional(VersionParameter) }),
      responses: { 200: { description: 'The schema.', body: JsonSchema } },
      problems: ['not_found', 'template_not_found', 'template_syntax', 'template_limit'],
    },
    async ({ caller, params: { key }, query }) => {
      const { publishedVersion } = await deps.templates.get(caller, 'template', key);
      const version = parseVersion(query.version) ?? publishedVersion ?? 'draft';
      const template = await deps.templateCache.resolve(caller, { key, version });
      return { status: 200, body: template.schema };
    },
  );
}
