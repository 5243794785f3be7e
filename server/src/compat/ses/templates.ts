import { type Static, Type } from 'typebox';
import { closed } from '../../http/openapi/shared-schemas.ts';
import { type Operation, operation } from '../../http/operation.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import { TemplateContent } from './email-schemas.ts';
import { nextToken, PAGE_QUERY, pageQuery, toSeconds } from './pages.ts';

/**
 * https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_EmailTemplateContent.html
 *
 * SES has no drafts, so a template that is created or updated is published at once, and only
 * published ones are returned. If publishing is refused, the change is undone.
 */

const PathName = Type.Object({ name: Type.String({ description: 'The name of the template.' }) });
const Empty = Type.Object({});

const TEMPLATES = '/v2/email/templates';

/** Our keys have no upper-case letters; the spelling is kept in the name. */
export function templateKey(name: string): string {
  return name.toLowerCase();
}

export function templateOperations({ call }: CompatDependencies): Operation[] {
  return [
    operation(
      {
        id: 'sesCreateEmailTemplate',
        method: 'POST',
        path: TEMPLATES,
        tag: 'Templates',
        summary: 'Create a template',
        scope: 'write:templates',
        mode: 'live',
        body: closed({ TemplateName: Type.String({ minLength: 1 }), TemplateContent }),
        responses: { 200: { description: 'Created and published.', body: Empty } },
      },
      async (request) => {
        const { TemplateName: name, TemplateContent: content } = request.body;
        const params = { key: templateKey(name) };
        await call(request, 'createTemplate', { body: { ...params, name, ...toFields(content) } });
        await undoIfRefused(
          () => call(request, 'publishTemplate', { params, body: {} }),
          () => call(request, 'deleteTemplate', { params }),
        );
        return { status: 200, body: {} };
      },
    ),
    operation(
      {
        id: 'sesUpdateEmailTemplate',
        method: 'PUT',
        path: `${TEMPLATES}/{name}`,
        tag: 'Templates',
        summary: 'Update a template',
        scope: 'write:templates',
        mode: 'live',
        params: PathName,
        body: closed({ TemplateContent }),
        responses: { 200: { description: 'Updated and published.', body: Empty } },
      },
      async (request) => {
        const params = { key: templateKey(request.params.name) };
        const { body: before } = await call(request, 'getTemplate', { params });
        await call(request, 'updateTemplate', {
          params,
          body: toFields(request.body.TemplateContent),
        });
        const { subject, html, text } = before;
        await undoIfRefused(
          () => call(request, 'publishTemplate', { params, body: {} }),
          () => call(request, 'updateTemplate', { params, body: { subject, html, text } }),
        );
        return { status: 200, body: {} };
      },
    ),
    operation(
      {
        id: 'sesGetEmailTemplate',
        method: 'GET',
        path: `${TEMPLATES}/{name}`,
        tag: 'Templates',
        summary: 'Retrieve a template',
        scope: 'read:templates',
        params: PathName,
        responses: {
          200: {
            description: 'The published template.',
            body: Type.Object({ TemplateName: Type.String(), TemplateContent }),
          },
        },
      },
      async (request) => {
        const key = templateKey(request.params.name);
        const { body: template } = await call(request, 'getTemplate', { params: { key } });
        const version = template.published_version;
        if (version === null) {
          throw new RefusedError('not_found', 'The template was never published.');
        }
        const params = { key, version: String(version) };
        const { body: content } = await call(request, 'getTemplateVersion', { params });
        const { subject, html, text } = content;
        return {
          status: 200,
          body: {
            TemplateName: templateName(template),
            TemplateContent: {
              ...(subject === null ? {} : { Subject: subject }),
              ...(html === null ? {} : { Html: html }),
              ...(text === null ? {} : { Text: text }),
            },
          },
        };
      },
    ),
    operation(
      {
        id: 'sesListEmailTemplates',
        method: 'GET',
        path: TEMPLATES,
        tag: 'Templates',
        summary: 'List templates',
        scope: 'read:templates',
        query: closed(PAGE_QUERY),
        responses: {
          200: {
            description: 'A page of published templates, newest first.',
            body: Type.Object({
              TemplatesMetadata: Type.Array(
                Type.Object({ TemplateName: Type.String(), CreatedTimestamp: Type.Number() }),
              ),
              NextToken: Type.Optional(Type.String()),
            }),
          },
        },
      },
      async (request) => {
        const { body } = await call(request, 'listTemplates', { query: pageQuery(request.query) });
        const published = (body.data as Template[]).filter((one) => one.published_version !== null);
        return {
          status: 200,
          body: {
            TemplatesMetadata: published.map((one) => ({
              TemplateName: templateName(one),
              CreatedTimestamp: toSeconds(one.created_at),
            })),
            ...nextToken(body),
          },
        };
      },
    ),
    operation(
      {
        id: 'sesDeleteEmailTemplate',
        method: 'DELETE',
        path: `${TEMPLATES}/{name}`,
        tag: 'Templates',
        summary: 'Delete a template',
        scope: 'write:templates',
        params: PathName,
        responses: { 200: { description: 'Deleted.', body: Empty } },
      },
      async (request) => {
        const params = { key: templateKey(request.params.name) };
        await call(request, 'deleteTemplate', { params }).catch(inUse);
        return { status: 200, body: {} };
      },
    ),
  ];
}

interface Template {
  key: string;
  name: string;
  published_version: number | null;
  created_at: string;
}

function templateName({ key, name }: Template): string {
  return templateKey(name) === key ? name : key;
}

function toFields({ Subject, Html, Text }: Static<typeof TemplateContent>): object {
  return { subject: Subject ?? null, html: Html ?? null, text: Text ?? null };
}

/** At SES, a conflict is a name that already exists. */
function inUse(error: unknown): never {
  if (!(error instanceof RefusedError) || error.code !== 'conflict') throw error;
  throw new RefusedError('validation_failed', error.message);
}

async function undoIfRefused(
  publish: () => Promise<unknown>,
  undo: () => Promise<unknown>,
): Promise<void> {
  try {
    await publish();
  } catch (error) {
    if (error instanceof RefusedError) await undo();
    throw error;
  }
}
