import { type Static, Type } from 'typebox';
import { closed } from '../../http/openapi/shared-schemas.ts';
import { type Operation, operation } from '../../http/operation.ts';
import type { AnyRequest } from '../../http/server/call-operation.ts';
import { invalidFields } from '../../lib/refused-error.ts';
import type { CompatDependencies } from '../compat-provider.ts';

/**
 * https://postmarkapp.com/developer/api/templates-api. An alias is the key of a template, and changes
 * are published at once, because templates have no drafts at Postmark.
 */

const Text = Type.Union([Type.String(), Type.Null()]);

const Fields = {
  Subject: Type.Optional(Text),
  HtmlBody: Type.Optional(Text),
  TextBody: Type.Optional(Text),
  Alias: Type.Optional(Text),
  TemplateType: Type.Optional(Text),
  LayoutTemplate: Type.Optional(Text),
};

const Change = closed({ Name: Type.Optional(Type.String()), ...Fields });

const Validated = closed({
  Subject: Type.Optional(Text),
  HtmlBody: Type.Optional(Text),
  TextBody: Type.Optional(Text),
  TestRenderModel: Type.Optional(
    Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()]),
  ),
  TemplateType: Type.Optional(Text),
  LayoutTemplate: Type.Optional(Text),
  InlineCssForHtmlTestRender: Type.Optional(Type.Boolean()),
});

const TemplatePath = Type.Object({
  alias: Type.String({ description: 'The alias: the key of the template.' }),
});

const Listed = Type.Object(
  { Name: Type.String(), Alias: Type.String(), Active: Type.Boolean() },
  { title: 'PostmarkTemplate' },
);

export function templateOperations({ call }: CompatDependencies): Operation[] {
  const create = (id: string, path: string) =>
    operation(
      {
        id,
        method: 'POST',
        path,
        tag: 'Templates',
        summary: 'Create and publish a template',
        scope: 'write:templates',
        mode: 'live',
        body: closed({ Name: Type.String(), ...Fields }),
        responses: { 200: { description: 'The template.', body: Listed } },
      },
      async (request) => {
        const { Alias: key } = request.body;
        if (!key) {
          const detail = 'Templates have no numbers here, so an alias is required.';
          throw invalidFields([{ pointer: '/Alias', code: 'required', detail }]);
        }
        const body = { key, ...toFields(request.body) };
        const { body: template } = await call(request, 'createTemplate', { body });
        await publish(call, request, key, () =>
          call(request, 'deleteTemplate', { params: { key }, query: { force: 'true' } }),
        );
        return { status: 200, body: toListed(template) };
      },
    );
  return [
    create('postmarkCreateTemplate', '/templates'),
    // The client library adds a slash.
    create('postmarkCreateTemplateSlash', '/templates/'),
    operation(
      {
        id: 'postmarkValidateTemplate',
        method: 'POST',
        path: '/templates/validate',
        tag: 'Templates',
        summary: 'Validate template content',
        description:
          'Checks and renders content without storing it, with `TestRenderModel` or with sample values. ' +
          'Layouts are not applied.',
        scope: 'read:templates',
        body: Validated,
        responses: { 200: { description: 'The result for each part.', body: Type.Object({}) } },
      },
      async (request) => {
        const { Subject, HtmlBody, TextBody, TestRenderModel: model } = request.body;
        checkValidated(request.body);
        const content = {
          subject: Subject ?? '',
          html: HtmlBody ?? null,
          text: TextBody ?? null,
          ...(model ? { variables: model } : {}),
        };
        const { body: preview } = await call(request, 'previewContent', { body: content });
        return { status: 200, body: toValidation(content, preview) };
      },
    ),
    operation(
      {
        id: 'postmarkListTemplates',
        method: 'GET',
        path: '/templates',
        tag: 'Templates',
        summary: 'List templates',
        description: 'The newest 100 templates; `offset` must be 0.',
        scope: 'read:templates',
        query: closed({
          count: Type.Integer({ minimum: 1, maximum: 500 }),
          offset: Type.Integer({ minimum: 0, maximum: 0 }),
          templateType: Type.Optional(Type.Union([Type.Literal('All'), Type.Literal('Standard')])),
        }),
        responses: {
          200: {
            description: 'The templates.',
            body: Type.Object({ TotalCount: Type.Integer(), Templates: Type.Array(Listed) }),
          },
        },
      },
      async (request) => {
        const query = { limit: String(Math.min(request.query.count, 100)) };
        const { body } = await call(request, 'listTemplates', { query });
        const templates = body.data.map(toListed);
        return { status: 200, body: { TotalCount: templates.length, Templates: templates } };
      },
    ),
    operation(
      {
        id: 'postmarkGetTemplate',
        method: 'GET',
        path: '/templates/{alias}',
        tag: 'Templates',
        summary: 'Retrieve a template',
        scope: 'read:templates',
        params: TemplatePath,
        responses: { 200: { description: 'The template.', body: Listed } },
      },
      async (request) => {
        const params = { key: request.params.alias };
        const { body: template } = await call(request, 'getTemplate', { params });
        return {
          status: 200,
          body: {
            ...toListed(template),
            Subject: template.subject,
            HtmlBody: template.html,
            TextBody: template.text,
          },
        };
      },
    ),
    operation(
      {
        id: 'postmarkEditTemplate',
        method: 'PUT',
        path: '/templates/{alias}',
        tag: 'Templates',
        summary: 'Change and publish a template',
        scope: 'write:templates',
        mode: 'live',
        params: TemplatePath,
        body: Change,
        responses: { 200: { description: 'The template.', body: Listed } },
      },
      async (request) => {
        const { alias: key } = request.params;
        const { Alias: alias } = request.body;
        if (alias !== undefined && alias !== null && alias !== key) {
          const detail = 'The alias of a template cannot change. Create another template instead.';
          throw invalidFields([{ pointer: '/Alias', code: 'unsupported', detail }]);
        }
        const params = { key };
        const { body: before } = await call(request, 'getTemplate', { params });
        const body = toFields(request.body);
        const { body: template } = await call(request, 'updateTemplate', { params, body });
        await publish(call, request, key, () => {
          const { name, subject, html, text, layout } = before;
          const restored = { name, subject, html, text, layout };
          return call(request, 'updateTemplate', { params, body: restored });
        });
        return { status: 200, body: toListed(template) };
      },
    ),
    operation(
      {
        id: 'postmarkDeleteTemplate',
        method: 'DELETE',
        path: '/templates/{alias}',
        tag: 'Templates',
        summary: 'Delete a template',
        scope: 'write:templates',
        params: TemplatePath,
        responses: { 200: { description: 'Deleted.', body: Type.Object({}) } },
      },
      async (request) => {
        const { alias } = request.params;
        await call(request, 'deleteTemplate', { params: { key: alias } });
        return { status: 200, body: { ErrorCode: 0, Message: `Template ${alias} removed.` } };
      },
    ),
  ];
}

function checkValidated(given: Static<typeof Validated>): void {
  const { TemplateType, LayoutTemplate, InlineCssForHtmlTestRender: inlineCss } = given;
  const unsupported = [
    ...(TemplateType && TemplateType !== 'Standard' ? ['TemplateType'] : []),
    ...(LayoutTemplate ? ['LayoutTemplate'] : []),
    ...(inlineCss === false ? ['InlineCssForHtmlTestRender'] : []),
  ];
  if (unsupported.length === 0) return;
  const detail = 'Content is validated as a standard template without a layout, with CSS inlined.';
  throw invalidFields(
    unsupported.map((field) => ({ pointer: `/${field}`, code: 'unsupported', detail })),
  );
}

interface Preview {
  errors: { field: string; message: string; line: number; column: number }[];
  /** Without errors only. */
  rendered?: { subject: string; html: string; text: string };
  variables?: Record<string, unknown>;
}

/** A part that was not given has no result. */
function toValidation(
  content: { subject: string; html: string | null; text: string | null },
  { errors, rendered, variables }: Preview,
): object {
  const part = (field: keyof typeof content) => {
    if (content[field] === null) return null;
    const own = errors.filter((error) => error.field === field);
    return {
      ContentIsValid: own.length === 0,
      ValidationErrors: own.map(({ message, line, column }) => ({
        Message: message,
        Line: line,
        CharacterPosition: column,
      })),
      RenderedContent: rendered?.[field] ?? null,
    };
  };
  return {
    AllContentIsValid: errors.length === 0,
    Subject: part('subject'),
    HtmlBody: part('html'),
    TextBody: part('text'),
    SuggestedTemplateModel: variables ?? {},
  };
}

/** A template that cannot be published is left as it was. */
async function publish(
  call: CompatDependencies['call'],
  request: AnyRequest,
  key: string,
  undo: () => Promise<unknown>,
): Promise<void> {
  try {
    await call(request, 'publishTemplate', { params: { key }, body: {} });
  } catch (error) {
    await undo();
    throw error;
  }
}

function toFields(template: Static<typeof Change>): object {
  const { Name, Subject, HtmlBody, TextBody, TemplateType, LayoutTemplate } = template;
  if (TemplateType && TemplateType !== 'Standard') {
    const detail =
      'Only standard templates can be changed here. Use `/api/v1/layouts` for layouts.';
    throw invalidFields([{ pointer: '/TemplateType', code: 'unsupported', detail }]);
  }
  return {
    ...(Name === undefined ? {} : { name: Name }),
    ...(Subject === undefined ? {} : { subject: Subject }),
    ...(HtmlBody === undefined ? {} : { html: HtmlBody || null }),
    ...(TextBody === undefined ? {} : { text: TextBody || null }),
    ...(LayoutTemplate === undefined ? {} : { layout: LayoutTemplate || null }),
  };
}

interface Template {
  key: string;
  name: string;
  layout: string | null;
}

function toListed({ key, name, layout }: Template): object {
  return {
    Name: name,
    Alias: key,
    Active: true,
    TemplateType: 'Standard',
    LayoutTemplate: layout,
  };
}
