import { type Static, Type } from 'typebox';
import { closed } from '../../http/openapi/shared-schemas.ts';
import { type Operation, operation } from '../../http/operation.ts';
import type { AnyRequest } from '../../http/server/call-operation.ts';
import { type FieldError, invalidFields } from '../../lib/refused-error.ts';
import { parseAddress, parseAddressList } from '../address-list.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import { parseJsonObject } from '../json-object.ts';
import { DomainPath, pathDomain } from './domain-path.ts';
import { Limit, limitOf, pageUrl } from './paging.ts';
import { toDate } from './times.ts';

/**
 * https://documentation.mailgun.com/docs/mailgun/api-reference/send/mailgun/templates. Templates are
 * those of the workspace, by their keys. A version is published when it is created, and its tag is its
 * number.
 */

const Name = Type.Object({ ...DomainPath.properties, name: Type.String() });
const Version = Type.Object({ ...Name.properties, tag: Type.String() });
const Message = Type.Object({ message: Type.String(), template: Type.Object({}) });

const CONTENT = {
  template: Type.String({ description: 'The HTML, in the syntax of our templates.' }),
  engine: Type.Optional(Type.Literal('handlebars')),
  comment: Type.Optional(Type.String({ maxLength: 1000 })),
  headers: Type.Optional(
    Type.String({ description: 'A JSON object with `Subject`, `From` and `Reply-To`.' }),
  ),
};

const ListQuery = closed({
  limit: Limit,
  page: Type.Optional(
    Type.Union([Type.Literal('first'), Type.Literal('next')], {
      description: 'Lists are read from the first page on, newest first.',
    }),
  ),
  p: Type.Optional(Type.String({ description: 'The position in a link of `paging`.' })),
});

export function templateOperations(deps: CompatDependencies): Operation[] {
  return [...templateReads(deps), ...templateChanges(deps), ...versionChanges(deps)];
}

function templateReads({ call, baseUrl }: CompatDependencies): Operation[] {
  const listed = async (
    path: string,
    { limit: given, page, p }: Static<typeof ListQuery>,
    read: (query: Record<string, string>) => ReturnType<typeof call>,
  ) => {
    const limit = limitOf(given, { otherwise: 10, maximum: 100 });
    const query = { limit: String(limit), ...(page === 'next' && p ? { cursor: p } : {}) };
    const isPastEnd = page === 'next' && p === END;
    const { body } = isPastEnd ? { body: { data: [], next_cursor: null } } : await read(query);
    const link = (to: Record<string, string>): string =>
      pageUrl(baseUrl, path, { ...to, limit: String(limit) });
    const first = link({ page: 'first' });
    const next = link({ page: 'next', p: body.next_cursor ?? END });
    return { data: body.data, paging: { first, next, previous: first, last: next } };
  };
  return [
    operation(
      {
        id: 'mailgunListTemplates',
        method: 'GET',
        path: '/v3/{domain}/templates',
        tag: 'Templates',
        summary: 'List templates',
        scope: 'read:templates',
        params: DomainPath,
        query: ListQuery,
        responses: { 200: { description: 'A page of templates.', body: Type.Object({}) } },
      },
      async (request) => {
        const path = `/v3/${pathDomain(request.params)}/templates`;
        const { data, paging } = await listed(path, request.query, (query) =>
          call(request, 'listTemplates', { query }),
        );
        return { status: 200, body: { items: (data as OurTemplate[]).map(toTemplate), paging } };
      },
    ),
    operation(
      {
        id: 'mailgunGetTemplate',
        method: 'GET',
        path: '/v3/{domain}/templates/{name}',
        tag: 'Templates',
        summary: 'Retrieve a template',
        description: 'With `active=yes`, also the version that is sent.',
        scope: 'read:templates',
        params: Name,
        query: closed({
          active: Type.Optional(Type.Union([Type.Literal('yes'), Type.Literal('no')])),
        }),
        responses: { 200: { description: 'The template.', body: Type.Object({}) } },
      },
      async (request) => {
        const key = keyOf(request.params);
        const { body } = await call(request, 'getTemplate', { params: { key } });
        const template = toTemplate(body);
        const version = body.published_version as number | null;
        if (request.query.active !== 'yes' || version === null) {
          return { status: 200, body: { template } };
        }
        const params = { key, version: String(version) };
        const published = await call(request, 'getTemplateVersion', { params });
        const content = withContent(published.body);
        return { status: 200, body: { template: { ...template, version: content } } };
      },
    ),
    operation(
      {
        id: 'mailgunListTemplateVersions',
        method: 'GET',
        path: '/v3/{domain}/templates/{name}/versions',
        tag: 'Templates',
        summary: 'List the versions of a template',
        scope: 'read:templates',
        params: Name,
        query: ListQuery,
        responses: { 200: { description: 'A page of versions.', body: Type.Object({}) } },
      },
      async (request) => {
        const key = keyOf(request.params);
        const { body } = await call(request, 'getTemplate', { params: { key } });
        const path = `/v3/${pathDomain(request.params)}/templates/${key}/versions`;
        const { data, paging } = await listed(path, request.query, (query) =>
          call(request, 'listTemplateVersions', { params: { key }, query }),
        );
        const versions = (data as OurVersion[]).map(toVersion);
        return { status: 200, body: { template: { ...toTemplate(body), versions }, paging } };
      },
    ),
    operation(
      {
        id: 'mailgunGetTemplateVersion',
        method: 'GET',
        path: '/v3/{domain}/templates/{name}/versions/{tag}',
        tag: 'Templates',
        summary: 'Retrieve a version of a template',
        scope: 'read:templates',
        params: Version,
        responses: { 200: { description: 'The version.', body: Type.Object({}) } },
      },
      async (request) => {
        const key = keyOf(request.params);
        const template = await call(request, 'getTemplate', { params: { key } });
        const params = { key, version: request.params.tag };
        const version = await call(request, 'getTemplateVersion', { params });
        return {
          status: 200,
          body: { template: { ...toTemplate(template.body), version: withContent(version.body) } },
        };
      },
    ),
  ];
}

const END = 'end';

function templateChanges({ call }: CompatDependencies): Operation[] {
  return [
    operation(
      {
        id: 'mailgunCreateTemplate',
        method: 'POST',
        path: '/v3/{domain}/templates',
        tag: 'Templates',
        summary: 'Create a template',
        description: 'Its first version is published at once.',
        scope: 'write:templates',
        mode: 'live',
        params: DomainPath,
        body: closed(
          {
            name: Type.String({ minLength: 1 }),
            description: Type.Optional(Type.String()),
            ...CONTENT,
          },
          { title: 'MailgunCreateTemplate' },
        ),
        acceptsForms: true,
        responses: { 200: { description: 'Created.', body: Message } },
      },
      async (request) => {
        pathDomain(request.params);
        const { name, description, comment } = request.body;
        const key = name.toLowerCase();
        const content = contentOf(request.body);
        await checkContent(call, request, content);
        const created = await call(request, 'createTemplate', {
          body: { key, name: description || name, ...content },
        });
        try {
          await publish(call, request, key, comment);
        } catch (error) {
          await call(request, 'deleteTemplate', { params: { key } });
          throw error;
        }
        const template = toTemplate(created.body);
        return { status: 200, body: { message: 'template has been stored', template } };
      },
    ),
    operation(
      {
        id: 'mailgunUpdateTemplate',
        method: 'PUT',
        path: '/v3/{domain}/templates/{name}',
        tag: 'Templates',
        summary: 'Change the description of a template',
        scope: 'write:templates',
        params: Name,
        body: closed({ description: Type.String({ minLength: 1, maxLength: 200 }) }),
        acceptsForms: true,
        responses: { 200: { description: 'Changed.', body: Message } },
      },
      async (request) => {
        const key = keyOf(request.params);
        const body = { name: request.body.description };
        await call(request, 'updateTemplate', { params: { key }, body });
        const message = 'template has been updated';
        return { status: 200, body: { message, template: { name: key } } };
      },
    ),
    operation(
      {
        id: 'mailgunDeleteTemplate',
        method: 'DELETE',
        path: '/v3/{domain}/templates/{name}',
        tag: 'Templates',
        summary: 'Delete a template',
        scope: 'write:templates',
        params: Name,
        responses: { 200: { description: 'Deleted.', body: Message } },
      },
      async (request) => {
        const key = keyOf(request.params);
        await call(request, 'deleteTemplate', { params: { key } });
        const message = 'template has been deleted';
        return { status: 200, body: { message, template: { name: key } } };
      },
    ),
  ];
}

function versionChanges({ call }: CompatDependencies): Operation[] {
  return [
    operation(
      {
        id: 'mailgunCreateTemplateVersion',
        method: 'POST',
        path: '/v3/{domain}/templates/{name}/versions',
        tag: 'Templates',
        summary: 'Create a version of a template',
        description: 'It is published at once, so `active` must be `yes`.',
        scope: 'write:templates',
        mode: 'live',
        params: Name,
        body: closed(
          { ...CONTENT, active: Type.Literal('yes') },
          { title: 'MailgunCreateTemplateVersion' },
        ),
        acceptsForms: true,
        responses: { 200: { description: 'Created.', body: Message } },
      },
      async (request) => {
        const key = keyOf(request.params);
        const content = contentOf(request.body);
        await checkContent(call, request, content);
        const { subject, ...rest } = content;
        const body = request.body.headers === undefined ? rest : { subject, ...rest };
        const changed = await call(request, 'updateTemplate', { params: { key }, body });
        const published = await publish(call, request, key, request.body.comment);
        const version = { tag: String(published.version), engine: ENGINE, active: true };
        return {
          status: 200,
          body: {
            message: 'new version of the template has been stored',
            template: { ...toTemplate(changed.body), version },
          },
        };
      },
    ),
    operation(
      {
        id: 'mailgunUpdateTemplateVersion',
        method: 'PUT',
        path: '/v3/{domain}/templates/{name}/versions/{tag}',
        tag: 'Templates',
        summary: 'Publish an earlier version of a template again',
        description: 'Versions do not change: only `active=yes` is accepted.',
        scope: 'write:templates',
        mode: 'live',
        params: Version,
        body: closed({ active: Type.Literal('yes') }),
        acceptsForms: true,
        responses: { 200: { description: 'Published.', body: Message } },
      },
      async (request) => {
        const key = keyOf(request.params);
        const { tag } = request.params;
        await call(request, 'getTemplateVersion', { params: { key, version: tag } });
        const body = { version: Number(tag) };
        await call(request, 'publishTemplate', { params: { key }, body });
        const message = 'version has been updated';
        return { status: 200, body: { message, template: { name: key, version: { tag } } } };
      },
    ),
  ];
}

/** Mailgun's names are in lower case. */
function keyOf(params: { domain: string; name: string }): string {
  pathDomain(params);
  return params.name.toLowerCase();
}

interface TemplateContent {
  subject: string;
  html: string;
  from?: object;
  reply_to?: object[];
}

/** At Mailgun, the subject comes with each message. */
const SUBJECT_OF_MESSAGE = '{{ subject }}';

function contentOf({ template, headers }: { template: string; headers?: string }): TemplateContent {
  const given = headers === undefined ? {} : parseJsonObject(headers, '/headers');
  const errors: FieldError[] = Object.entries(given)
    .filter(([name, value]) => !HEADERS.has(name.toLowerCase()) || typeof value !== 'string')
    .map(([name]) => ({
      pointer: `/headers/${name}`,
      code: 'unsupported',
      detail: 'A template can have `Subject`, `From` and `Reply-To`, as text.',
    }));
  if (errors.length > 0) throw invalidFields(errors);
  const texts = new Map(
    Object.entries(given).map(([name, value]) => [name.toLowerCase(), String(value)]),
  );
  const from = texts.get('from');
  const replyTo = texts.get('reply-to');
  return {
    subject: texts.get('subject') ?? SUBJECT_OF_MESSAGE,
    html: template,
    ...(from === undefined ? {} : { from: parseAddress(from, '/headers/From') }),
    ...(replyTo === undefined ? {} : { reply_to: parseAddressList(replyTo, '/headers/Reply-To') }),
  };
}

const HEADERS = new Set(['subject', 'from', 'reply-to']);

/** Publishing makes the same checks, but only after the draft is stored. */
async function checkContent(
  call: CompatDependencies['call'],
  request: AnyRequest,
  { subject, html }: TemplateContent,
): Promise<void> {
  const { body } = await call(request, 'checkTransactional', { body: { subject, html } });
  const findings = body.errors as { code: string; message: string; line: number | null }[];
  const errors = findings.map(({ code, message, line }) => ({
    pointer: '/template',
    code,
    detail: line === null ? message : `Line ${line}: ${message}`,
  }));
  if (errors.length > 0) throw invalidFields(errors);
}

async function publish(
  call: CompatDependencies['call'],
  request: AnyRequest,
  key: string,
  comment: string | undefined,
): Promise<{ version: number }> {
  const body = comment ? { note: comment } : {};
  return (await call(request, 'publishTemplate', { params: { key }, body })).body;
}

interface OurTemplate {
  id: string;
  key: string;
  name: string;
  created_at: string;
  updated_by: string;
}

function toTemplate({ id, key, name, created_at: createdAt, updated_by: by }: OurTemplate) {
  return { id, name: key, description: name, createdAt: toDate(createdAt), createdBy: by };
}

interface OurVersion {
  version: number;
  current: boolean;
  published_at: string;
  note: string | null;
  html?: string | null;
  subject?: string | null;
}

const ENGINE = 'handlebars';

function toVersion({ version, current, published_at: at, note }: OurVersion) {
  return {
    id: String(version),
    tag: String(version),
    engine: ENGINE,
    mjml: '',
    comment: note ?? '',
    active: current,
    createdAt: toDate(at),
  };
}

function withContent(version: OurVersion): object {
  const { html, subject } = version;
  return {
    ...toVersion(version),
    template: html ?? '',
    ...(subject ? { headers: { Subject: subject } } : {}),
  };
}
