import { encodeId } from '../lib/ids.ts';
import { RefusedError } from '../lib/refused-error.ts';
import type { TemplateFinding } from './checks/template-finding.ts';
import type { Publication } from './content/publish-content.ts';
import { type ContentKind, ID_PREFIXES, type StoredContent } from './content/stored-content.ts';
import { draftEtag } from './draft-etag.ts';
import type { PushResult } from './push-templates.ts';
import type { TemplateCache } from './template-cache.ts';
import type { Template, TemplateSummary, Version } from './template-store.ts';
import type { TemplateVariable } from './variables/infer-variables.ts';

/** The public representations, shared by the API and the command line. */

export function publicTemplate(template: Template, variables: readonly TemplateVariable[]) {
  const { kind, draft } = template;
  return {
    ...commonFields(template),
    ...publicContent(kind, draft, variables),
    ...timestamps(template),
    etag: draftEtag(template),
  };
}

export function publicSummary(template: TemplateSummary) {
  const { kind, subject, layout, locales } = template;
  return {
    ...commonFields(template),
    ...(kind === 'template' ? { subject, layout } : {}),
    locales,
    ...timestamps(template),
  };
}

export function publicVersion(key: string, version: Version) {
  return {
    key,
    version: version.version,
    current: version.current,
    published_at: new Date(version.publishedAtMs).toISOString(),
    published_by: version.publishedBy,
    note: version.note,
    publications: version.publications.map(({ at, by, note }) => ({
      published_at: new Date(at).toISOString(),
      published_by: by,
      note,
    })),
  };
}

export function publicPublication({ key, version, note, affected: touches, ...rest }: Publication) {
  return {
    key,
    version,
    published_at: new Date(rest.publishedAtMs).toISOString(),
    published_by: rest.publishedBy,
    note,
    warnings: rest.warnings.map(publicFinding),
    touches: touches.map((one) => ({
      key: one.key,
      version: one.version,
      new_variables: one.newVariables,
    })),
  };
}

export function publicPushResult({ kind, key, draft, publishedVersion, warnings }: PushResult) {
  const published_version = publishedVersion;
  return { kind, key, draft, published_version, warnings: warnings.map(publicFinding) };
}

export function publicFinding({ code, message, field, line, column }: TemplateFinding) {
  return { code, message, field, line, column };
}

export function publicContent(
  kind: ContentKind,
  content: StoredContent,
  variables: readonly TemplateVariable[],
) {
  const { subject, html, text, from, reply_to, stream, layout, locales } = content;
  if (kind !== 'template') return { html, text, locales };
  const declared = new Set(content.variables.map(({ name }) => name));
  return {
    subject,
    html,
    text,
    from,
    reply_to,
    stream: stream ?? null,
    layout,
    locales,
    variables: variables.map((variable) => ({
      name: variable.name,
      type: variable.type,
      required: variable.required,
      default: variable.default ?? null,
      example: variable.example ?? null,
      description: variable.description ?? null,
      secret: variable.secret ?? false,
      inferred: !declared.has(variable.name),
    })),
  };
}

/** Declared and inferred variables; only the declared ones when the content cannot be parsed. */
export async function variablesOf(
  cache: TemplateCache,
  { workspaceId, kind, key }: Pick<Template, 'workspaceId' | 'kind' | 'key'>,
  version: number | 'draft',
  content: StoredContent,
): Promise<readonly TemplateVariable[]> {
  if (kind !== 'template') return [];
  try {
    return (await cache.resolve({ workspaceId }, { key, version })).variables;
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    return content.variables.map((variable) => ({
      ...variable,
      type: variable.type ?? 'string',
      required: variable.required ?? false,
      declared: variable.type !== undefined,
    }));
  }
}

type CommonFields = Omit<TemplateSummary, 'subject' | 'layout' | 'locales'>;

function commonFields({ kind, id, key, name, publishedVersion, hasChanges }: CommonFields) {
  return {
    id: encodeId(ID_PREFIXES[kind], id),
    key,
    name,
    published_version: publishedVersion,
    has_unpublished_changes: hasChanges,
  };
}

function timestamps({ publishedAtMs, createdAtMs, updatedAtMs, updatedBy }: CommonFields) {
  return {
    published_at: publishedAtMs === null ? null : new Date(publishedAtMs).toISOString(),
    created_at: new Date(createdAtMs).toISOString(),
    updated_at: new Date(updatedAtMs).toISOString(),
    updated_by: updatedBy,
  };
}
