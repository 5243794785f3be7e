import { type Api, type Schema, unwrap } from '../../api/client.ts';

/** Templates, layouts and partials have the same API under three paths. */
export type ContentKind = 'template' | 'layout' | 'partial';

export type Template = Schema<'Template'>;
export type TemplateSummary = Schema<'TemplateSummary'>;
export type TemplateVariable = Schema<'TemplateVariable'>;
export type TemplateChange = Schema<'UpdateTemplate'>;
export type Finding = Schema<'Finding'>;
export type Rendered = Schema<'RenderedTemplate'>;
export type Comparison = Schema<'Comparison'>;

/** The hint says what it is, `use` what it is good for while there is none. */
export const KINDS: Record<ContentKind, { one: string; many: string; hint: string; use: string }> =
  {
    template: {
      one: 'template',
      many: 'Templates',
      hint: 'Reusable email content. Send it with its template key.',
      use: 'Edit emails without changing your code, and preview them before you publish.',
    },
    layout: {
      one: 'layout',
      many: 'Layouts',
      hint: 'The frame around templates: header, logo, footer. {{ content }} marks where the template goes.',
      use: 'Change the header or footer of all templates in one place.',
    },
    partial: {
      one: 'partial',
      many: 'Partials',
      hint: 'Content shared by several templates. Include it with {% render "key" %}.',
      use: 'Change what several templates share in one place.',
    },
  };

export function isKind(text: string | undefined): text is ContentKind {
  return text !== undefined && text in KINDS;
}

export function contentApi(api: Api, kind: ContentKind) {
  // The three differ only in their paths; layouts and partials have fewer fields.
  const all = `/api/v1/${kind}s` as '/api/v1/templates';
  const one = `${all}/{key}` as '/api/v1/templates/{key}';
  const versions = `${one}/versions` as '/api/v1/templates/{key}/versions';
  const publish = `${one}/publish` as '/api/v1/templates/{key}/publish';
  const path = (key: string) => ({ params: { path: { key } } });
  const ifMatch = (key: string, etag: string) => ({
    params: { path: { key }, header: { 'If-Match': etag } },
  });
  return {
    list: (query: { limit: number; cursor?: string; q?: string }) =>
      unwrap(api.GET(all, { params: { query } })),
    get: (key: string) => unwrap(api.GET(one, path(key))),
    create: (body: Schema<'CreateTemplate'>) => unwrap(api.POST(all, { body })),
    /** Fails with `draft_changed` if the draft no longer has this ETag. */
    change: (key: string, body: TemplateChange, etag: string) =>
      unwrap(api.PATCH(one, { ...ifMatch(key, etag), body })),
    remove: (key: string) => unwrap(api.DELETE(one, path(key))),
    versions: (key: string, query: { limit: number; cursor?: string }) =>
      unwrap(api.GET(versions, { params: { path: { key }, query } })),
    publish: (key: string, body: { version?: number; note?: string }) =>
      unwrap(api.POST(publish, { ...path(key), body })),
    /** Publishes the draft only if it still has this ETag. */
    publishIfMatch: (key: string, body: { note?: string }, etag: string) =>
      unwrap(api.POST(publish, { ...ifMatch(key, etag), body })),
  };
}
