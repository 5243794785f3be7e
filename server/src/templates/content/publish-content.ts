import { lockForTransaction } from '../../db/advisory-lock.ts';
import type { Queryable } from '../../db/connections/pool.ts';
import { appendEvents } from '../../events/events-store.ts';
import { type FieldError, RefusedError } from '../../lib/refused-error.ts';
import { eventLoopTurns } from '../../lib/scheduling/turns.ts';
import { streamExists } from '../../streams/stream-source.ts';
import { checkTemplate } from '../checks/check-template.ts';
import {
  finding,
  hasErrors,
  limitFinding,
  type TemplateFinding,
} from '../checks/template-finding.ts';
import { CompiledTemplate } from '../compile-template.ts';
import { assertDraftUnchanged, type ExpectedDraft } from '../draft-etag.ts';
import { ContentLimitError, fieldPointer } from '../engine/content-errors.ts';
import { partialsIn, resolveSources } from '../template-cache.ts';
import {
  assertWithinLimits,
  findDependents,
  readTemplateParts,
  type TemplatePart,
} from '../template-dependencies-store.ts';
import {
  type ContentRef,
  findTemplate,
  findVersion,
  insertVersion,
  notifyTemplatesChanged,
  publishVersion,
} from '../template-store.ts';
import type { StoredContent } from './stored-content.ts';

/**
 * Publishes content inside the caller's transaction: it is checked together with its dependencies,
 * stored under a new version number, and announced with an event. Any error aborts all of it.
 */

export interface PublishRequest {
  /** An existing version to publish again; undefined publishes the draft. */
  version: number | undefined;
  note: string | null;
  by: string;
  atMs: number;
  expected?: ExpectedDraft;
  /** Templates published in the same transaction, so their previous versions are not checked. */
  publishedTogether?: ReadonlySet<string>;
}

export interface Publication extends ContentRef {
  version: number;
  publishedAtMs: number;
  publishedBy: string;
  note: string | null;
  warnings: TemplateFinding[];
  /** Published templates whose output changes because they use this content. */
  affected: AffectedTemplate[];
}

export interface AffectedTemplate {
  key: string;
  version: number;
  /** Variables that sends must supply from now on but did not need before. */
  newVariables: string[];
}

export async function publishContent(
  db: Queryable,
  ref: ContentRef,
  request: PublishRequest,
): Promise<Publication> {
  await lockForTransaction(db, 'templates', ref.workspaceId);
  const content = await contentToPublish(db, ref, request);
  const dependencies = await readDependencies(db, ref, request.version ?? 'draft');
  const findings = await checkWithDependencies(db, ref, content, dependencies);
  throwOnErrors(findings);
  const { affected, findings: breakages } = await findAffected(
    db,
    ref,
    content,
    dependencies,
    request.publishedTogether,
  );
  throwOnErrors(breakages);
  const version = request.version ?? (await insertVersion(db, ref, content));
  await publishVersion(db, ref, { ...request, version });
  await appendEvents(db, [
    {
      workspaceId: ref.workspaceId,
      mode: 'live',
      type: 'template.published',
      atMs: request.atMs,
      data: { template: { kind: ref.kind, key: ref.key, version } },
    },
  ]);
  await notifyTemplatesChanged(db, ref.workspaceId);
  return {
    ...ref,
    version,
    publishedAtMs: request.atMs,
    publishedBy: request.by,
    note: request.note,
    warnings: findings,
    affected,
  };
}

/** All findings for a draft or version, checked with the currently published dependencies. */
export async function checkStoredContent(
  db: Queryable,
  ref: ContentRef,
  version: number | 'draft',
  content: StoredContent,
): Promise<TemplateFinding[]> {
  try {
    return await checkWithDependencies(db, ref, content, await readDependencies(db, ref, version));
  } catch (error) {
    if (!(error instanceof ContentLimitError)) throw error;
    return [limitFinding(error, error.field)];
  }
}

/** The published layout and partials that the content uses. */
async function readDependencies(
  db: Queryable,
  ref: ContentRef,
  version: number | 'draft',
): Promise<TemplatePart[]> {
  return (await readTemplateParts(db, ref, { version, withContent: true })).slice(1);
}

async function checkWithDependencies(
  db: Queryable,
  ref: ContentRef,
  content: StoredContent,
  used: readonly TemplatePart[],
): Promise<TemplateFinding[]> {
  // Checking a large template takes hundreds of milliseconds.
  await eventLoopTurns.next(ref.workspaceId);
  const layout = used.find(({ kind }) => kind === 'layout')?.content ?? undefined;
  const partials = partialsIn(used);
  // A partial that renders itself must be checked with its new text, not the published one.
  if (ref.kind === 'partial') partials.set(ref.key, content);
  const { kind, key, workspaceId } = ref;
  const findings = checkTemplate({ kind, key, content, layout, partials });
  if (content.stream == null || (await streamExists(db, workspaceId, content.stream))) {
    return findings;
  }
  const message = `The workspace has no stream ${content.stream}.`;
  return [finding('error', 'stream_not_found', message, 'stream'), ...findings];
}

async function contentToPublish(
  db: Queryable,
  ref: ContentRef,
  { version, expected }: PublishRequest,
): Promise<StoredContent> {
  const template = await findTemplate(db, ref, 'for update of t');
  if (!template) throw notFound(ref);
  assertDraftUnchanged(template, expected);
  if (version === undefined) return template.draft;
  const old = await findVersion(db, ref, version);
  if (old) return old.content;
  const detail = `There is no version ${version}.`;
  throw new RefusedError('validation_failed', detail, {
    errors: [{ pointer: '/version', code: 'invalid_value', detail }],
  });
}

export function notFound({ kind }: Pick<ContentRef, 'kind'>): RefusedError {
  return new RefusedError('not_found', `There is no ${kind} with this key.`);
}

/** Dependents beyond this number are listed but not analyzed. */
const ANALYZED_MAX = 100;
const LISTED_MAX = 1_000;

/** Compiles every template that uses a layout or partial with the new content in place. */
async function findAffected(
  db: Queryable,
  ref: ContentRef,
  content: StoredContent,
  dependencies: readonly TemplatePart[],
  publishedTogether: ReadonlySet<string> = new Set(),
): Promise<{ affected: AffectedTemplate[]; findings: TemplateFinding[] }> {
  const affected: AffectedTemplate[] = [];
  const findings: TemplateFinding[] = [];
  if (ref.kind === 'template') return { affected, findings };
  const dependents = await findDependents(db, ref, LISTED_MAX);
  for (const { key, version } of dependents.filter(({ kind }) => kind === 'template')) {
    const template: AffectedTemplate = { key, version, newVariables: [] };
    affected.push(template);
    if (affected.length > ANALYZED_MAX || publishedTogether.has(key)) continue;
    const dependent = { workspaceId: ref.workspaceId, kind: 'template' as const, key };
    const before = await readPartsToCompare(db, dependent, version);
    // A template over the limit cannot be sent anyway, and this change may bring it back within it.
    if (!before) continue;
    await eventLoopTurns.next(ref.workspaceId);
    const now = requirementsOf(before);
    const then = requirementsOf(replacePart(before, ref, content, dependencies));
    template.newVariables = then.needed.filter((name) => !now.needed.includes(name));
    const breakages = then.breakages.filter((detail) => !now.breakages.includes(detail));
    for (const detail of breakages) {
      const message = `The template \`${key}\` could no longer be sent: ${detail}`;
      const position = { field: 'html', line: 1, column: 1 };
      findings.push({ severity: 'error', code: 'breaks_template', message, ...position });
    }
  }
  return { affected, findings };
}

async function readPartsToCompare(
  db: Queryable,
  ref: ContentRef,
  version: number,
): Promise<TemplatePart[] | undefined> {
  try {
    return await readTemplateParts(db, ref, { version, withContent: true });
  } catch (error) {
    if (error instanceof ContentLimitError) return undefined;
    throw error;
  }
}

/** The parts of a template after the change; the new content can add partials that were not used before. */
function replacePart(
  before: readonly TemplatePart[],
  { kind, key }: ContentRef,
  content: StoredContent,
  dependencies: readonly TemplatePart[],
): TemplatePart[] {
  const bytes = Buffer.byteLength(JSON.stringify(content));
  const known = new Set(before.map((row) => `${row.kind} ${row.key}`));
  return [
    ...before.map((row) =>
      row.kind === kind && row.key === key ? { ...row, content, bytes } : row,
    ),
    ...dependencies.filter((row) => !known.has(`${row.kind} ${row.key}`)),
  ];
}

/** The variables a template requires, and the reasons why it cannot be sent. */
function requirementsOf(parts: TemplatePart[]): { needed: string[]; breakages: string[] } {
  try {
    assertWithinLimits(
      parts.length,
      parts.reduce((sum, { bytes }) => sum + bytes, 0),
    );
    const template = new CompiledTemplate(resolveSources(parts));
    const needed = template.variables.filter(({ required }) => required).map(({ name }) => name);
    const breakages = template
      .missingPartials()
      .map((key) => `it renders the partial \`${key}\`, which has no matching content.`);
    return { needed, breakages };
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    return { needed: [], breakages: [error.message] };
  }
}

function throwOnErrors(findings: readonly TemplateFinding[]): void {
  if (!hasErrors(findings)) return;
  const errors = findings.filter(({ severity }) => severity === 'error');
  const syntax = errors.every(({ code }) => code === 'template_syntax');
  const [first] = errors as [TemplateFinding, ...TemplateFinding[]];
  const detail =
    errors.length > 1
      ? `There are ${errors.length} errors; nothing was published.`
      : `${first.field}, line ${first.line}, column ${first.column}: ${first.message}`;
  throw new RefusedError(syntax ? 'template_syntax' : 'validation_failed', detail, {
    errors: errors.map(toFieldError),
  });
}

function toFieldError({ field, code, message, line, column }: TemplateFinding): FieldError {
  return { pointer: fieldPointer(field), code, detail: message, line, column };
}
