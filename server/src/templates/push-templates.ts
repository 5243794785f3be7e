import type { Caller } from '../accounts/caller.ts';
import { lockForTransaction } from '../db/advisory-lock.ts';
import { inTransaction, type Pool, type Queryable } from '../db/connections/pool.ts';
import { uuidv7 } from '../lib/ids.ts';
import { type FieldError, RefusedError } from '../lib/refused-error.ts';
import { eventLoopTurns } from '../lib/scheduling/turns.ts';
import type { Clock } from '../lib/time/clock.ts';
import { checkTemplate } from './checks/check-template.ts';
import type { TemplateFinding } from './checks/template-finding.ts';
import { publishContent } from './content/publish-content.ts';
import {
  type ContentKind,
  EMPTY_CONTENT,
  referencedPartials,
  type StoredContent,
} from './content/stored-content.ts';
import { fieldPointer } from './engine/content-errors.ts';
import { PARTS_BYTES_MAX } from './template-dependencies-store.ts';
import { applyFieldChanges, parseKey } from './template-fields.ts';
import { assertTemplateQuota } from './template-quota.ts';
import {
  type ContentRef,
  findTemplate,
  insertTemplate,
  isSameContent,
  notifyTemplatesChanged,
  readPart,
  updateDraft,
} from './template-store.ts';

/**
 * Pushes many templates at once, such as a folder of files. Either every draft is updated or, if any
 * of them has errors, none is. All pushed content is checked as if it were published together, and
 * publishing, if requested, happens in the same transaction. A draft may be unfinished on the server:
 * its errors are warnings here as long as the push neither changes nor publishes it.
 */

export type Author = Pick<Caller, 'workspaceId' | 'actor'>;

export interface PushedTemplate {
  kind: ContentKind;
  key: string;
  /** All fields; an absent field is cleared. */
  fields: Readonly<Record<string, unknown>>;
}

export interface PushOptions {
  publish: boolean;
  note?: string | undefined;
}

export interface PushResult {
  kind: ContentKind;
  key: string;
  draft: 'created' | 'changed' | 'unchanged';
  /** Null when this push did not publish it. */
  publishedVersion: number | null;
  warnings: TemplateFinding[];
}

/** Throws a RefusedError with pointers such as `/templates/welcome/html`. */
export async function pushTemplates(
  parts: { pool: Pool; clock: Clock },
  author: Author,
  pushed: readonly PushedTemplate[],
  options: PushOptions,
): Promise<PushResult[]> {
  const parsed = parsePushed(pushed);
  return inTransaction(parts.pool, async (client) => {
    await lockForTransaction(client, 'templates', author.workspaceId);
    const warnings = await checkAll(client, author.workspaceId, parsed, options);
    const atMs = parts.clock.now();
    const results: PushResult[] = [];
    for (const item of parsed) {
      const draft = await writeDraft(client, author, item, atMs);
      const ownWarnings = warnings.get(item) ?? [];
      const { kind, key } = item;
      results.push({ kind, key, draft, publishedVersion: null, warnings: ownWarnings });
    }
    if (options.publish) await publishAll(client, author, parsed, results, options, atMs);
    await notifyTemplatesChanged(client, author.workspaceId);
    return results;
  });
}

/** The content to store. */
export interface PushItem {
  kind: ContentKind;
  key: string;
  name: string;
  content: StoredContent;
}

export function parsePushed(pushed: readonly PushedTemplate[]): PushItem[] {
  const errors: FieldError[] = [];
  const items = pushed.flatMap(({ kind, key, fields }) => {
    try {
      const { name = key, content } = applyFieldChanges(kind, EMPTY_CONTENT, fields);
      return [{ kind, key: parseKey(key), name, content }];
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      errors.push(
        ...error.errors.map((one) => ({ ...one, pointer: pointerTo(kind, key, one.pointer) })),
      );
      return [];
    }
  });
  throwIfAny(errors);
  return items;
}

async function checkAll(
  db: Queryable,
  workspaceId: string,
  items: readonly PushItem[],
  { publish }: PushOptions,
): Promise<Map<PushItem, TemplateFinding[]>> {
  const { layouts, partials } = await readParts(db, workspaceId, items);
  const warnings = new Map<PushItem, TemplateFinding[]>();
  const errors: FieldError[] = [];
  for (const item of items) {
    const { kind, key, content } = item;
    const layout = content.layout === null ? undefined : layouts.get(content.layout);
    await eventLoopTurns.next(workspaceId);
    const onServer = await findTemplate(db, { workspaceId, kind, key });
    const isUnchanged = onServer !== undefined && isSameContent(onServer.draft, content);
    const isKept = isUnchanged && !(publish && onServer.hasChanges);
    for (const finding of checkTemplate({ kind, key, content, layout, partials })) {
      const { severity, code, message, field, line, column } = finding;
      if (severity === 'warning' || isKept)
        warnings.set(item, [...(warnings.get(item) ?? []), finding]);
      else {
        const pointer = pointerTo(kind, key, fieldPointer(field));
        errors.push({ pointer, code, detail: message, line, column });
      }
    }
  }
  throwIfAny(errors);
  return warnings;
}

/** Parts outside the push are held in memory together, so their number and size are limited. */
const OTHER_PARTS_MAX = 1_000;

interface Parts {
  layouts: Map<string, StoredContent>;
  partials: Map<string, StoredContent>;
}

/**
 * The pushed layouts and partials, and those that the pushed content uses beyond them: their
 * published version, or the draft if they were never published.
 */
async function readParts(
  db: Queryable,
  workspaceId: string,
  items: readonly PushItem[],
): Promise<Parts> {
  const parts: Parts = { layouts: new Map(), partials: new Map() };
  for (const { kind, key, content } of items) {
    if (kind === 'layout') parts.layouts.set(key, content);
    if (kind === 'partial') parts.partials.set(key, content);
  }
  const contents = items.map(({ content }) => content);
  const tried = new Set<string>();
  let bytes = 0;
  // The list grows while it is read: a part may use further parts.
  for (const content of contents) {
    for (const { kind, key } of partsUsedBy(content)) {
      const known = kind === 'layout' ? parts.layouts : parts.partials;
      if (known.has(key) || tried.has(`${kind} ${key}`)) continue;
      tried.add(`${kind} ${key}`);
      const part = await readPart(db, { workspaceId, kind, key });
      if (!part) continue;
      bytes += part.bytes;
      if (tried.size > OTHER_PARTS_MAX || bytes > PARTS_BYTES_MAX) throw tooManyParts();
      known.set(key, part.content);
      contents.push(part.content);
    }
  }
  return parts;
}

function partsUsedBy(content: StoredContent): { kind: 'layout' | 'partial'; key: string }[] {
  const partials = referencedPartials(content).map((key) => ({ kind: 'partial' as const, key }));
  return content.layout === null
    ? partials
    : [{ kind: 'layout', key: content.layout }, ...partials];
}

function tooManyParts(): RefusedError {
  return new RefusedError(
    'template_limit',
    `The pushed content uses more than ${OTHER_PARTS_MAX} layouts and partials that are not part of the push, or more than ${PARTS_BYTES_MAX} bytes of them. Push fewer items at a time.`,
  );
}

async function writeDraft(
  db: Queryable,
  { workspaceId, actor }: Author,
  { kind, key, name, content }: PushItem,
  atMs: number,
): Promise<PushResult['draft']> {
  const ref: ContentRef = { workspaceId, kind, key };
  const before = await findTemplate(db, ref, 'for update of t');
  if (!before) {
    await assertTemplateQuota(db, ref);
    await insertTemplate(db, { ...ref, id: uuidv7(atMs), name, draft: content, atMs, by: actor });
    return 'created';
  }
  const change = { name, draft: content, atMs, by: actor };
  return (await updateDraft(db, before, change)) ? 'changed' : 'unchanged';
}

/** Publishes dependencies before the templates that use them. */
async function publishAll(
  db: Queryable,
  { workspaceId, actor }: Author,
  items: readonly PushItem[],
  results: readonly PushResult[],
  { note }: PushOptions,
  atMs: number,
): Promise<void> {
  const templates = items.filter(({ kind }) => kind === 'template').map(({ key }) => key);
  const request = { version: undefined, note: note ?? null, by: actor, atMs };
  for (const item of inDependencyOrder(items)) {
    const { kind, key } = item;
    const ref = { workspaceId, kind, key };
    const { hasChanges } = (await findTemplate(db, ref)) ?? { hasChanges: false };
    if (!hasChanges) continue;
    try {
      const publication = await publishContent(db, ref, {
        ...request,
        publishedTogether: new Set(templates),
      });
      const result = results.find((one) => one.kind === kind && one.key === key);
      if (result) result.publishedVersion = publication.version;
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      throwIfAny(
        error.errors.map((one) => ({ ...one, pointer: pointerTo(kind, key, one.pointer) })),
      );
      throw error;
    }
  }
}

const KIND_ORDER: Record<ContentKind, number> = { partial: 0, layout: 1, template: 2 };

function inDependencyOrder(items: readonly PushItem[]): PushItem[] {
  const ordered: PushItem[] = [];
  const partials = new Map(
    items.filter(({ kind }) => kind === 'partial').map((item) => [item.key, item]),
  );
  const visited = new Set<PushItem>();
  const add = (item: PushItem): void => {
    // Cycles were rejected earlier, so a visited item is already in the list.
    if (visited.has(item)) return;
    visited.add(item);
    for (const key of referencedPartials(item.content)) {
      const used = partials.get(key);
      if (used) add(used);
    }
    ordered.push(item);
  };
  for (const item of items.toSorted((a, b) => KIND_ORDER[a.kind] - KIND_ORDER[b.kind])) add(item);
  return ordered;
}

function pointerTo(kind: ContentKind, key: string, pointer = ''): string {
  return `/${kind}s/${key}${pointer}`;
}

function throwIfAny(errors: readonly FieldError[]): void {
  if (errors.length === 0) return;
  const detail = `${errors.length > 1 ? `There are ${errors.length} errors` : 'There is an error'}; nothing was pushed.`;
  throw new RefusedError('validation_failed', detail, { errors });
}
