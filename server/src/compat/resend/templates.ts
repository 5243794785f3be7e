import { type Static, Type } from 'typebox';
import { closed } from '../../http/openapi/shared-schemas.ts';
import { type Operation, operation } from '../../http/operation.ts';
import { invalidFields } from '../../lib/refused-error.ts';
import { formatAddress } from '../../mail/address.ts';
import { parseAddress, parseAddressList } from '../address-list.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import { Deleted, deleted, ListQuery, pageQuery, toPage } from './lists.ts';

/** https://resend.com/docs/api-reference/templates. The alias of a template is its key at ours. */

const Text = Type.Union([Type.String(), Type.Null()]);

const Changeable = {
  subject: Type.Optional(Text),
  html: Type.Optional(Text),
  text: Type.Optional(Text),
  from: Type.Optional(Text),
  reply_to: Type.Optional(
    Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 10 }), Type.Null()]),
  ),
  variables: Type.Optional(
    Type.Array(
      closed({
        key: Type.String(),
        type: Type.Union([Type.Literal('string'), Type.Literal('number')]),
        fallback_value: Type.Optional(Type.Union([Type.String(), Type.Number(), Type.Null()])),
      }),
    ),
  ),
};

const Change = closed({
  name: Type.Optional(Type.String()),
  alias: Type.Optional(Text),
  ...Changeable,
});

const TemplatePath = Type.Object({
  id: Type.String({ description: 'The alias: the key of the template.' }),
});

const Changed = Type.Object({ object: Type.Literal('template'), id: Type.String() });

const TEMPLATES = { list: '/templates', prefix: 'tpl' } as const;

export function templateOperations({ call }: CompatDependencies): Operation[] {
  const changed = (id: string) => ({ object: 'template', id });
  return [
    operation(
      {
        id: 'resendCreateTemplate',
        method: 'POST',
        path: '/templates',
        tag: 'Templates',
        summary: 'Create a template',
        description: 'Without an `alias`, the key is made from the name. The id is the key.',
        scope: 'write:templates',
        body: closed({ name: Type.String(), alias: Type.Optional(Text), ...Changeable }),
        responses: { 201: { description: 'The draft.', body: Changed } },
      },
      async (request) => {
        const { alias, name } = request.body;
        const body = { key: alias ?? toKey(name), ...toFields(request.body) };
        const { body: template } = await call(request, 'createTemplate', { body });
        return { status: 201, body: changed(template.key) };
      },
    ),
    operation(
      {
        id: 'resendListTemplates',
        method: 'GET',
        path: '/templates',
        tag: 'Templates',
        summary: 'List templates',
        scope: 'read:templates',
        query: closed({
          limit: ListQuery.properties.limit,
          after: Type.Optional(
            Type.String({ description: 'The alias of the last template of the page before.' }),
          ),
        }),
        responses: { 200: { description: 'The templates, newest first.', body: Type.Object({}) } },
      },
      async (request) => {
        const { limit, after: alias } = request.query;
        const last =
          alias === undefined
            ? undefined
            : await call(request, 'getTemplate', { params: { key: alias } });
        const after = last?.body.id as string | undefined;
        const query = pageQuery(
          { ...(limit === undefined ? {} : { limit }), ...(after === undefined ? {} : { after }) },
          TEMPLATES,
        );
        const { body } = await call(request, 'listTemplates', { query });
        return { status: 200, body: toPage(body, toListed) };
      },
    ),
    operation(
      {
        id: 'resendGetTemplate',
        method: 'GET',
        path: '/templates/{id}',
        tag: 'Templates',
        summary: 'Retrieve a template',
        scope: 'read:templates',
        params: TemplatePath,
        responses: { 200: { description: 'The template.', body: Type.Object({}) } },
      },
      async (request) => {
        const params = { key: request.params.id };
        const { body } = await call(request, 'getTemplate', { params });
        return { status: 200, body: toTemplate(body) };
      },
    ),
    operation(
      {
        id: 'resendUpdateTemplate',
        method: 'PATCH',
        path: '/templates/{id}',
        tag: 'Templates',
        summary: 'Update a template',
        scope: 'write:templates',
        params: TemplatePath,
        body: Change,
        responses: { 200: { description: 'The draft was changed.', body: Changed } },
      },
      async (request) => {
        const { id } = request.params;
        const { alias } = request.body;
        if (alias !== undefined && alias !== id) {
          const detail = 'The alias of a template cannot change. Create another template instead.';
          throw invalidFields([{ pointer: '/alias', code: 'unsupported', detail }]);
        }
        const body = toFields(request.body);
        await call(request, 'updateTemplate', { params: { key: id }, body });
        return { status: 200, body: changed(id) };
      },
    ),
    operation(
      {
        id: 'resendPublishTemplate',
        method: 'POST',
        path: '/templates/{id}/publish',
        tag: 'Templates',
        summary: 'Publish a template',
        scope: 'write:templates',
        params: TemplatePath,
        responses: { 200: { description: 'Published.', body: Changed } },
      },
      async (request) => {
        const { id } = request.params;
        await call(request, 'publishTemplate', { params: { key: id }, body: {} });
        return { status: 200, body: changed(id) };
      },
    ),
    operation(
      {
        id: 'resendDeleteTemplate',
        method: 'DELETE',
        path: '/templates/{id}',
        tag: 'Templates',
        summary: 'Delete a template',
        scope: 'write:templates',
        params: TemplatePath,
        responses: { 200: { description: 'Deleted.', body: Deleted } },
      },
      async (request) => {
        const { id } = request.params;
        await call(request, 'deleteTemplate', { params: { key: id } });
        return { status: 200, body: deleted('template', id) };
      },
    ),
  ];
}

function toKey(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
}

/** The fields of our own template. Triple braces are refused there, with the replacement. */
function toFields(template: Static<typeof Change>): object {
  const { name, subject, html, text, from, reply_to: replyTo, variables } = template;
  return {
    ...(name === undefined ? {} : { name }),
    ...(subject === undefined ? {} : { subject }),
    ...(html === undefined ? {} : { html }),
    ...(text === undefined ? {} : { text }),
    ...(from === undefined ? {} : { from: from === null ? null : parseAddress(from, '/from') }),
    ...(replyTo === undefined ? {} : { reply_to: toReplyTo(replyTo) }),
    ...(variables === undefined
      ? {}
      : {
          variables: variables.map(({ key, type, fallback_value: fallback }) => ({
            name: key,
            type,
            ...(fallback === undefined || fallback === null ? {} : { default: fallback }),
          })),
        }),
  };
}

function toReplyTo(value: string | string[] | null) {
  if (value === null) return null;
  if (typeof value === 'string') return parseAddressList(value, '/reply_to');
  return value.map((text, index) => parseAddress(text, `/reply_to/${index}`));
}

interface Listed {
  key: string;
  name: string;
  published_version: number | null;
  has_unpublished_changes: boolean;
  published_at: string | null;
  created_at: string;
  updated_at: string;
}

interface Template extends Listed {
  subject: string | null;
  html: string | null;
  text: string | null;
  from: { email: string; name?: string } | null;
  reply_to: { email: string; name?: string }[];
  variables: { name: string; type: string; default: unknown }[];
}

function toListed({ key, name, published_version, published_at, created_at, updated_at }: Listed) {
  const status = published_version === null ? 'draft' : 'published';
  return { id: key, alias: key, name, status, published_at, created_at, updated_at };
}

function toTemplate(template: Template) {
  const { subject, html, text, from, reply_to: replyTo, created_at, updated_at } = template;
  return {
    object: 'template',
    ...toListed(template),
    current_version_id: String(template.published_version ?? 'draft'),
    has_unpublished_versions: template.has_unpublished_changes,
    subject,
    html,
    text,
    from: from && formatAddress(from),
    reply_to: replyTo.length > 0 ? replyTo.map(formatAddress) : null,
    variables: template.variables.map(({ name, type, default: fallback }) => ({
      key: name,
      type,
      fallback_value: fallback,
      created_at,
      updated_at,
    })),
  };
}
