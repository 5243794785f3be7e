import { lockForTransaction } from '../db/advisory-lock.ts';
import { inTransaction, type Pool } from '../db/connections/pool.ts';
import type { SearchedPage } from '../db/statements/text-search.ts';
import { uuidv7 } from '../lib/ids.ts';
import { RefusedError } from '../lib/refused-error.ts';
import type { Clock } from '../lib/time/clock.ts';
import type { TemplateFinding } from './checks/template-finding.ts';
import {
  checkStoredContent,
  notFound,
  type Publication,
  publishContent,
} from './content/publish-content.ts';
import { type ContentKind, EMPTY_CONTENT, type StoredContent } from './content/stored-content.ts';
import { assertDraftUnchanged, type ExpectedDraft } from './draft-etag.ts';
import {
  type Author,
  type PushedTemplate,
  type PushOptions,
  type PushResult,
  pushTemplates,
} from './push-templates.ts';
import { findDependents } from './template-dependencies-store.ts';
import { applyFieldChanges, isKey, parseKey } from './template-fields.ts';
import { assertTemplateQuota } from './template-quota.ts';
import {
  type ContentRef,
  type DraftPage,
  deleteTemplate,
  findTemplate,
  findVersion,
  hasScheduledMessages,
  insertTemplate,
  listDrafts,
  listTemplates,
  listVersions,
  notifyTemplatesChanged,
  type Template,
  type TemplateSummary,
  updateDraft,
  type Version,
} from './template-store.ts';

/**
 * The life cycle of templates, layouts and partials: a draft that authors edit, and numbered versions
 * that never change once published. Every change notifies all nodes on commit, so that their caches
 * drop the workspace's templates; publishing writes its event in the same transaction. Live and test
 * mode share templates.
 */

export interface TemplatesParts {
  pool: Pool;
  clock: Clock;
  /** Called after each commit, so that this node does not wait for its own notification. */
  onChange: (workspaceId: string) => void;
}

export class Templates {
  readonly #parts: TemplatesParts;

  constructor(parts: TemplatesParts) {
    this.#parts = parts;
  }

  async create(
    author: Author,
    kind: ContentKind,
    { key: given, ...fields }: Readonly<Record<string, unknown>>,
  ): Promise<Template> {
    const key = parseKey(given);
    const { name = key, content } = applyFieldChanges(kind, EMPTY_CONTENT, fields);
    const ref = { workspaceId: author.workspaceId, kind, key };
    const atMs = this.#parts.clock.now();
    const template = { ...ref, id: uuidv7(atMs), name, draft: content, atMs, by: author.actor };
    return this.#commit(author, async (client) => {
      await lockForTransaction(client, 'templates', author.workspaceId);
      await assertTemplateQuota(client, ref);
      if (!(await insertTemplate(client, template))) {
        throw new RefusedError('conflict', `A ${kind} with the key "${key}" already exists.`, {
          fix: `PATCH /api/v1/${kind}s/${key} changes its draft. Or choose another key.`,
        });
      }
      return found(ref, await findTemplate(client, ref));
    });
  }

  async get(workspace: WorkspaceRef, kind: ContentKind, key: string): Promise<Template> {
    const ref = refOf(workspace, kind, key);
    return found(ref, await findTemplate(this.#parts.pool, ref));
  }

  /** Newest first. Searches the key, name and subject. */
  list(
    { workspaceId }: WorkspaceRef,
    kind: ContentKind,
    page: SearchedPage,
  ): Promise<TemplateSummary[]> {
    return listTemplates(this.#parts.pool, { workspaceId, kind }, page);
  }

  /** A page of all templates, layouts and partials with their drafts, ordered by kind and key. */
  drafts({ workspaceId }: WorkspaceRef, page: DraftPage): ReturnType<typeof listDrafts> {
    return listDrafts(this.#parts.pool, workspaceId, page);
  }

  /** Updates many drafts, or none, and publishes them if requested. */
  async push(
    author: Author,
    pushed: readonly PushedTemplate[],
    options: PushOptions,
  ): Promise<PushResult[]> {
    const results = await pushTemplates(this.#parts, author, pushed, options);
    this.#parts.onChange(author.workspaceId);
    return results;
  }

  /** Updates the draft if it is in the expected state. Published versions do not change. */
  async change(
    author: Author,
    kind: ContentKind,
    key: string,
    given: Readonly<Record<string, unknown>>,
    expected?: ExpectedDraft,
  ): Promise<Template> {
    const ref = refOf(author, kind, key);
    return this.#commit(author, async (client) => {
      const before = found(ref, await findTemplate(client, ref, 'for update of t'));
      assertDraftUnchanged(before, expected);
      const { name = before.name, content } = applyFieldChanges(kind, before.draft, given);
      const atMs = this.#parts.clock.now();
      const change = { name, draft: content, atMs, by: author.actor };
      if (!(await updateDraft(client, before, change))) return before;
      return found(ref, await findTemplate(client, ref));
    });
  }

  /** Publishes the draft as the next version, or an existing version again. */
  publish(
    author: Author,
    kind: ContentKind,
    key: string,
    request: { version?: number; note?: string; expected?: ExpectedDraft },
  ): Promise<Publication> {
    const ref = refOf(author, kind, key);
    return this.#commit(author, (client) =>
      publishContent(client, ref, {
        version: request.version,
        note: request.note ?? null,
        expected: request.expected,
        by: author.actor,
        atMs: this.#parts.clock.now(),
      }),
    );
  }

  async listVersions(
    workspace: WorkspaceRef,
    kind: ContentKind,
    key: string,
    page: { before?: number; limit: number },
  ): Promise<Version[]> {
    const ref = refOf(workspace, kind, key);
    const versions = await listVersions(this.#parts.pool, ref, page);
    if (versions.length === 0) found(ref, await findTemplate(this.#parts.pool, ref));
    return versions;
  }

  async getVersion(
    workspace: WorkspaceRef,
    kind: ContentKind,
    key: string,
    version: number,
  ): Promise<Version & { content: StoredContent }> {
    const found = await findVersion(this.#parts.pool, refOf(workspace, kind, key), version);
    if (found) return found;
    throw new RefusedError('not_found', `There is no such version of this ${kind}.`);
  }

  /** The fields of a version, or of the draft. */
  async content(
    workspace: WorkspaceRef,
    kind: ContentKind,
    key: string,
    version: number | 'draft',
  ): Promise<StoredContent> {
    if (version === 'draft') return (await this.get(workspace, kind, key)).draft;
    return (await this.getVersion(workspace, kind, key, version)).content;
  }

  /** The findings that publishing the draft would produce. */
  async check(workspace: WorkspaceRef, kind: ContentKind, key: string): Promise<TemplateFinding[]> {
    const ref = refOf(workspace, kind, key);
    const { draft } = await this.get(workspace, kind, key);
    return checkStoredContent(this.#parts.pool, ref, 'draft', draft);
  }

  /** Fails while the content is in use, unless forced. Test keys delete only what was never published. */
  async remove(
    author: Author,
    kind: ContentKind,
    key: string,
    { force, byTestKey = false }: { force: boolean; byTestKey?: boolean },
  ): Promise<void> {
    const ref = refOf(author, kind, key);
    await this.#commit(author, async (client) => {
      await lockForTransaction(client, 'templates', author.workspaceId);
      const template = found(ref, await findTemplate(client, ref, 'for update of t'));
      if (template.publishedVersion !== null && byTestKey) {
        const detail = `This ${kind} is published, so live mail may use it. Only a live key can delete it.`;
        throw new RefusedError('wrong_mode', detail);
      }
      if (
        !force &&
        kind === 'template' &&
        (await hasScheduledMessages(client, ref, this.#parts.clock.now()))
      ) {
        throw new RefusedError(
          'conflict',
          'Scheduled messages use this template. Cancel them, or delete it with force=true; they will still be sent.',
        );
      }
      const dependents = force ? [] : await findDependents(client, ref, DEPENDENTS_LISTED + 1);
      if (dependents.length > 0) throw inUseError(kind, dependents);
      await deleteTemplate(client, ref);
    });
  }

  async #commit<T>(
    { workspaceId }: WorkspaceRef,
    work: (client: Parameters<typeof notifyTemplatesChanged>[0]) => Promise<T>,
  ): Promise<T> {
    const result = await inTransaction(this.#parts.pool, async (client) => {
      const done = await work(client);
      await notifyTemplatesChanged(client, workspaceId);
      return done;
    });
    this.#parts.onChange(workspaceId);
    return result;
  }
}

type WorkspaceRef = { workspaceId: string };

const DEPENDENTS_LISTED = 5;

/** An invalid key in a URL path gives the same response as a key that does not exist. */
function refOf({ workspaceId }: WorkspaceRef, kind: ContentKind, key: string): ContentRef {
  if (!isKey(key)) throw notFound({ kind });
  return { workspaceId, kind, key };
}

function found(ref: ContentRef, template: Template | undefined): Template {
  if (!template) throw notFound(ref);
  return template;
}

function inUseError(
  kind: ContentKind,
  dependents: readonly Pick<ContentRef, 'kind' | 'key'>[],
): RefusedError {
  const named = dependents
    .slice(0, DEPENDENTS_LISTED)
    .map((dependent) => `the ${dependent.kind} "${dependent.key}"`);
  const more = dependents.length > DEPENDENTS_LISTED ? ' and others' : '';
  return new RefusedError(
    'conflict',
    `This ${kind} is used by ${named.join(', ')}${more}. Publish them without it first, or delete it with force=true; they can then no longer be sent.`,
  );
}
