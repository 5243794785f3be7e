import type { Queryable } from '../db/pool.ts';
import { takeTurn } from '../db/take-turn.ts';
import { appendEvents } from '../events/events-store.ts';
import { type FieldError, RefusedError } from '../lib/refused-error.ts';
import { type Finding, tooMuch } from './check-content.ts';
import { checkTemplate, hasErrors } from './check-template.ts';
import { CompiledTemplate } from './compile-template.ts';
import { type ExpectedDraft, refuseOtherDraft } from './expected-draft.ts';
import { findUsers, type Ingredient, readRecipe, refuseTooMuch } from './recipe-store.ts';
import type { StoredContent } from './stored-content.ts';
import { ContentLimitError, fieldPointer } from './substitution/content-errors.ts';
import { partialsAmong, recipeOf } from './template-directory.ts';
import {
  findTemplate,
  findVersion,
  insertVersion,
  notifyTemplatesChanged,
  publishVersion,
  type Ref,
} from './template-store.ts';

/**
 * Publishing, inside the caller's transaction: what is published is checked in the company it will
 * go out in, written down under a number of its own, and told. Errors refuse all of it.
 */

export interface PublishOrder {
  /** An old version to publish again; undefined: the draft. */
  version: number | undefined;
  note: string | null;
  by: string;
  atMs: number;
  expected?: ExpectedDraft;
  /** Templates that are published anew in the same transaction: their old texts do not count. */
  together?: ReadonlySet<string>;
}

export interface Publication extends Ref {
  version: number;
  publishedAtMs: number;
  publishedBy: string;
  note: string | null;
  warnings: Finding[];
  /** Published templates that go out changed from now on, because they use this. */
  touches: Touched[];
}

export interface Touched {
  key: string;
  version: number;
  /** What a send from it must supply from now on, and did not before. */
  newVariables: string[];
}

export async function publishContent(
  db: Queryable,
  ref: Ref,
  order: PublishOrder,
): Promise<Publication> {
  await takeTurn(db, 'templates', ref.workspaceId);
  const content = await contentToPublish(db, ref, order);
  const company = await companyOf(db, ref, order.version ?? 'draft');
  const findings = checkInCompany(ref, content, company);
  refuseErrors(findings);
  const { touched, findings: harm } = await touchedBy(db, ref, content, company, order.together);
  refuseErrors(harm);
  const version = order.version ?? (await insertVersion(db, ref, content));
  await publishVersion(db, ref, { ...order, version });
  await appendEvents(db, [
    {
      workspaceId: ref.workspaceId,
      mode: 'live',
      type: 'template.published',
      atMs: order.atMs,
      data: { template: { kind: ref.kind, key: ref.key, version } },
    },
  ]);
  await notifyTemplatesChanged(db, ref.workspaceId);
  return {
    ...ref,
    version,
    publishedAtMs: order.atMs,
    publishedBy: order.by,
    note: order.note,
    warnings: findings,
    touches: touched,
  };
}

/** All that can be said of a draft or version, in the company of what is published now. */
export async function checkContentOf(
  db: Queryable,
  ref: Ref,
  version: number | 'draft',
  content: StoredContent,
): Promise<Finding[]> {
  try {
    return checkInCompany(ref, content, await companyOf(db, ref, version));
  } catch (error) {
    if (!(error instanceof ContentLimitError)) throw error;
    return [tooMuch(error, error.field)];
  }
}

/** The layout and the partials that it goes out with. */
async function companyOf(
  db: Queryable,
  ref: Ref,
  version: number | 'draft',
): Promise<Ingredient[]> {
  return (await readRecipe(db, ref, { version, withContent: true })).slice(1);
}

function checkInCompany(ref: Ref, content: StoredContent, used: readonly Ingredient[]): Finding[] {
  const layout = used.find(({ kind }) => kind === 'layout')?.content ?? undefined;
  const partials = partialsAmong(used);
  // A partial that comes back to itself meets its new text, not the published one.
  if (ref.kind === 'partial') partials.set(ref.key, content);
  return checkTemplate({ kind: ref.kind, key: ref.key, content, layout, partials });
}

async function contentToPublish(
  db: Queryable,
  ref: Ref,
  { version, expected }: PublishOrder,
): Promise<StoredContent> {
  const template = await findTemplate(db, ref, 'for update of t');
  if (!template) throw notFound(ref);
  refuseOtherDraft(template, expected);
  if (version === undefined) return template.draft;
  const old = await findVersion(db, ref, version);
  if (old) return old.content;
  const detail = `There is no version ${version}.`;
  throw new RefusedError('validation_failed', detail, {
    errors: [{ pointer: '/version', code: 'invalid_value', detail }],
  });
}

export function notFound({ kind }: Pick<Ref, 'kind'>): RefusedError {
  return new RefusedError('not_found', `There is no ${kind} with this key.`);
}

/** More than these are listed without a closer look. */
const LOOKED_AT_MAX = 100;
const LISTED_MAX = 1_000;

/** Looks at every template around a layout or partial with its new text in it. */
async function touchedBy(
  db: Queryable,
  ref: Ref,
  content: StoredContent,
  company: readonly Ingredient[],
  together: ReadonlySet<string> = new Set(),
): Promise<{ touched: Touched[]; findings: Finding[] }> {
  const touched: Touched[] = [];
  const findings: Finding[] = [];
  if (ref.kind === 'template') return { touched, findings };
  const users = await findUsers(db, ref, LISTED_MAX);
  for (const { key, version } of users.filter(({ kind }) => kind === 'template')) {
    const one: Touched = { key, version, newVariables: [] };
    touched.push(one);
    if (touched.length > LOOKED_AT_MAX || together.has(key)) continue;
    const user = { workspaceId: ref.workspaceId, kind: 'template' as const, key };
    const before = await recipeToCompare(db, user, version);
    // What is too much already cannot be sent, and may be about to become less.
    if (!before) continue;
    const now = compiled(before);
    const then = compiled(withNewText(before, ref, content, company));
    one.newVariables = then.needed.filter((name) => !now.needed.includes(name));
    const harm = then.harm.filter((detail) => !now.harm.includes(detail));
    for (const detail of harm) {
      const message = `The template \`${key}\` could not be sent any more: ${detail}`;
      const place = { field: 'html', line: 1, column: 1 };
      findings.push({ severity: 'error', code: 'breaks_template', message, ...place });
    }
  }
  return { touched, findings };
}

async function recipeToCompare(
  db: Queryable,
  ref: Ref,
  version: number,
): Promise<Ingredient[] | undefined> {
  try {
    return await readRecipe(db, ref, { version, withContent: true });
  } catch (error) {
    if (error instanceof ContentLimitError) return undefined;
    throw error;
  }
}

/** What a template will be made of: the new text brings partials along that it did not use before. */
function withNewText(
  before: readonly Ingredient[],
  { kind, key }: Ref,
  content: StoredContent,
  company: readonly Ingredient[],
): Ingredient[] {
  const bytes = Buffer.byteLength(JSON.stringify(content));
  const known = new Set(before.map((row) => `${row.kind} ${row.key}`));
  return [
    ...before.map((row) =>
      row.kind === kind && row.key === key ? { ...row, content, bytes } : row,
    ),
    ...company.filter((row) => !known.has(`${row.kind} ${row.key}`)),
  ];
}

/** What a template needs of a send, and why it cannot be sent. */
function compiled(ingredients: Ingredient[]): { needed: string[]; harm: string[] } {
  try {
    refuseTooMuch(
      ingredients.length,
      ingredients.reduce((sum, { bytes }) => sum + bytes, 0),
    );
    const template = new CompiledTemplate(recipeOf(ingredients));
    const needed = template.variables.filter(({ required }) => required).map(({ name }) => name);
    const harm = template
      .missingPartials()
      .map((key) => `it renders the partial \`${key}\` where that has no text for it.`);
    return { needed, harm };
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    return { needed: [], harm: [error.message] };
  }
}

export function refuseErrors(findings: readonly Finding[]): void {
  if (!hasErrors(findings)) return;
  const errors = findings.filter(({ severity }) => severity === 'error');
  const syntax = errors.every(({ code }) => code === 'template_syntax');
  const [first] = errors as [Finding, ...Finding[]];
  const detail =
    errors.length > 1
      ? `There are ${errors.length} errors; nothing was published.`
      : `${first.field}, line ${first.line}, column ${first.column}: ${first.message}`;
  throw new RefusedError(syntax ? 'template_syntax' : 'validation_failed', detail, {
    errors: errors.map(fieldErrorOf),
  });
}

function fieldErrorOf({ field, code, message, line, column }: Finding): FieldError {
  return { pointer: fieldPointer(field), code, detail: message, line, column };
}
