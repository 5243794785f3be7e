import { channel } from '../db/connections/notification-channels.ts';
import type { Queryable } from '../db/connections/pool.ts';
import { sqlTime } from '../db/schema/row-types.ts';
import type { TemplatesRow } from '../db/schema/tables.ts';
import { selectList } from '../db/statements/select-list.ts';
import { containsTerms, type SearchedPage, searchPatterns } from '../db/statements/text-search.ts';
import {
  type ContentKind,
  contentHash,
  referencedPartials,
  type StoredContent,
} from './content/stored-content.ts';

/** SQL for templates, layouts and partials, which share one life cycle and one set of tables. */

export interface ContentRef {
  workspaceId: string;
  kind: ContentKind;
  key: string;
}

export interface Template extends ContentRef {
  id: string;
  name: string;
  draft: StoredContent;
  draftRevision: number;
  /** Null: never published. */
  publishedVersion: number | null;
  publishedAtMs: number | null;
  /** The draft differs from the published version, or nothing is published. */
  hasChanges: boolean;
  createdAtMs: number;
  updatedAtMs: number;
  updatedBy: string;
}

export type TemplateSummary = Omit<Template, 'draft'> & {
  subject: string | null;
  layout: string | null;
  locales: string[];
};

const OWN_COLUMNS = selectList<
  TemplatesRow,
  Omit<Template, 'draft' | 'hasChanges' | 'publishedAtMs'>
>(
  {
    workspaceId: 'workspace_id',
    kind: 'kind',
    key: 'key',
    id: 'id',
    name: 'name',
    draftRevision: 'draft_revision',
    publishedVersion: 'published_version',
    createdAtMs: 'created_at',
    updatedAtMs: 'updated_at',
    updatedBy: 'updated_by',
  },
  't',
);

const TEMPLATE_COLUMNS = `${OWN_COLUMNS},
  v.content_hash is distinct from t.draft_hash as "hasChanges",
  (select p.published_at from template_publications p
    where p.workspace_id = t.workspace_id and p.kind = t.kind and p.key = t.key
    order by p.ordinal desc limit 1) as "publishedAtMs"`;

const TEMPLATES_WITH_PUBLISHED = `templates t left join template_versions v on v.workspace_id = t.workspace_id
  and v.kind = t.kind and v.key = t.key and v.version = t.published_version`;

const KEY_MATCHES = 'workspace_id = $1 and kind = $2 and key = $3';

export async function findTemplate(
  db: Queryable,
  { workspaceId, kind, key }: ContentRef,
  lock: '' | 'for update of t' = '',
): Promise<Template | undefined> {
  const { rows } = await db.query<Template>(
    `select ${TEMPLATE_COLUMNS}, t.draft from ${TEMPLATES_WITH_PUBLISHED}
     where t.workspace_id = $1 and t.kind = $2 and t.key = $3 ${lock}`,
    [workspaceId, kind, key],
  );
  return rows[0];
}

export async function listTemplates(
  db: Queryable,
  collection: Pick<ContentRef, 'workspaceId' | 'kind'>,
  page: SearchedPage,
): Promise<TemplateSummary[]> {
  const { rows } = await db.query<TemplateSummary>(
    `select ${TEMPLATE_COLUMNS}, t.draft_subject as subject, t.draft_layout as layout,
       t.draft_locales as locales
     from ${TEMPLATES_WITH_PUBLISHED}
     where t.workspace_id = $1 and t.kind = $2 and ($3::uuid is null or t.id < $3)
       and ${containsTerms('$5', ['t.key', 't.name', 't.draft_subject'])}
     order by t.id desc limit $4`,
    [
      collection.workspaceId,
      collection.kind,
      page.before ?? null,
      page.limit,
      searchPatterns(page.text),
    ],
  );
  return rows;
}

/** The last item of the previous page, and the maximum number of items. */
export interface DraftPage {
  after?: Pick<ContentRef, 'kind' | 'key'> | undefined;
  limit: number;
}

/** A draft can have 16 MB, so a page ends early when it is large. */
const DRAFTS_BYTES_MAX = 4 * 1024 * 1024;

/** Templates, layouts and partials of a workspace with their drafts, ordered by kind and key. */
export async function listDrafts(
  db: Queryable,
  workspaceId: string,
  { after, limit }: DraftPage,
): Promise<{ drafts: Template[]; hasMore: boolean }> {
  const { rows } = await db.query<Template & { found: number }>(
    `with page as (
       select kind, key, octet_length(draft::text) as bytes from templates
       where workspace_id = $1 and (kind, key) > ($2, $3) order by kind, key limit $4
     ), within_limit as (
       select kind, key, sum(bytes) over (order by kind, key) - bytes as bytes_before,
         count(*) over () as found
       from page
     )
     select ${TEMPLATE_COLUMNS}, t.draft, p.found from ${TEMPLATES_WITH_PUBLISHED}
     join within_limit p on p.kind = t.kind and p.key = t.key
     where t.workspace_id = $1 and p.bytes_before < ${DRAFTS_BYTES_MAX} order by t.kind, t.key`,
    // One more than wanted shows whether there is a next page.
    [workspaceId, after?.kind ?? '', after?.key ?? '', limit + 1],
  );
  const drafts = rows.slice(0, limit);
  return { drafts, hasMore: (rows[0]?.found ?? 0) > drafts.length };
}

/** The published content of a layout or partial, or its draft if it was never published. */
export async function readPart(
  db: Queryable,
  { workspaceId, kind, key }: ContentRef,
): Promise<{ content: StoredContent; bytes: number } | undefined> {
  const { rows } = await db.query<{ content: StoredContent; bytes: number }>(
    `select c.content, octet_length(c.content::text) as bytes
     from ${TEMPLATES_WITH_PUBLISHED}, lateral (select coalesce(v.content, t.draft) as content) c
     where t.workspace_id = $1 and t.kind = $2 and t.key = $3`,
    [workspaceId, kind, key],
  );
  return rows[0];
}

export async function countTemplates(
  db: Queryable,
  { workspaceId, kind }: Pick<ContentRef, 'workspaceId' | 'kind'>,
): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'select count(*) as count from templates where workspace_id = $1 and kind = $2',
    [workspaceId, kind],
  );
  return rows[0]?.count ?? 0;
}

export interface NewTemplate extends ContentRef {
  id: string;
  name: string;
  draft: StoredContent;
  atMs: number;
  by: string;
}

/** Returns false when the key is already in use. */
export async function insertTemplate(db: Queryable, template: NewTemplate): Promise<boolean> {
  const { workspaceId, kind, key } = template;
  const { rowCount } = await db.query(
    `insert into templates (workspace_id, kind, key, name, draft, draft_hash, draft_subject,
       draft_locales, draft_layout, draft_partials, updated_at, updated_by, created_at, id)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $11, $13)
     on conflict (workspace_id, kind, key) do nothing`,
    [workspaceId, kind, key, ...draftValues(template), template.id],
  );
  return rowCount === 1;
}

export type DraftChange = Pick<NewTemplate, 'name' | 'draft' | 'atMs' | 'by'>;

/** Returns false without writing when nothing changed. */
export async function updateDraft(
  db: Queryable,
  before: Template,
  change: DraftChange,
): Promise<boolean> {
  const { workspaceId, kind, key, name } = before;
  if (change.name === name && isSameContent(change.draft, before.draft)) return false;
  await db.query(
    `update templates set name = $4, draft = $5, draft_hash = $6, draft_subject = $7,
       draft_locales = $8, draft_layout = $9, draft_partials = $10, updated_at = $11,
       updated_by = $12, draft_revision = draft_revision + 1
     where ${KEY_MATCHES}`,
    [workspaceId, kind, key, ...draftValues(change)],
  );
  return true;
}

export function isSameContent(one: StoredContent, other: StoredContent): boolean {
  return contentHash(one).equals(contentHash(other));
}

function draftValues({ name, draft, atMs, by }: DraftChange): unknown[] {
  return [
    ...[name, JSON.stringify(draft), contentHash(draft)],
    ...[draft.subject, Object.keys(draft.locales), draft.layout, referencedPartials(draft)],
    ...[sqlTime(atMs), by],
  ];
}

export async function deleteTemplate(
  db: Queryable,
  { workspaceId, kind, key }: ContentRef,
): Promise<boolean> {
  const { rowCount } = await db.query(`delete from templates where ${KEY_MATCHES}`, [
    workspaceId,
    kind,
    key,
  ]);
  return rowCount === 1;
}

/** Stores the content as the next version and returns its number. */
export async function insertVersion(
  db: Queryable,
  { workspaceId, kind, key }: ContentRef,
  content: StoredContent,
): Promise<number> {
  const { rows } = await db.query<{ version: number }>(
    `with numbered as (
       update templates set last_version = last_version + 1 where ${KEY_MATCHES} returning last_version)
     insert into template_versions
       (workspace_id, kind, key, version, content, content_hash, layout, partials)
     select $1, $2, $3, last_version, $4, $5, $6, $7 from numbered returning version`,
    [
      ...[workspaceId, kind, key, JSON.stringify(content)],
      ...[contentHash(content), content.layout, referencedPartials(content)],
    ],
  );
  return rows[0]?.version as number;
}

/** Makes this the version that sends use. */
export async function publishVersion(
  db: Queryable,
  { workspaceId, kind, key }: ContentRef,
  publication: { version: number; atMs: number; by: string; note: string | null },
): Promise<void> {
  const { version, atMs, by, note } = publication;
  await db.query(
    `with moved as (update templates set published_version = $4 where ${KEY_MATCHES})
     insert into template_publications
       (workspace_id, kind, key, ordinal, version, published_at, published_by, note)
     select $1, $2, $3, 1 + coalesce(max(ordinal), 0), $4, $5, $6, $7
     from template_publications where ${KEY_MATCHES}`,
    [workspaceId, kind, key, version, sqlTime(atMs), by, note],
  );
}

export interface Version {
  version: number;
  /** The most recent publication. */
  publishedAtMs: number;
  publishedBy: string;
  note: string | null;
  publications: { at: string; by: string; note: string | null }[];
  current: boolean;
}

const VERSION_COLUMNS = `v.version, v.version = t.published_version as current,
  last.published_at as "publishedAtMs", last.published_by as "publishedBy", last.note,
  (select json_agg(json_build_object('at', p.published_at, 'by', p.published_by, 'note', p.note)
     order by p.ordinal)
   from template_publications p where p.workspace_id = v.workspace_id and p.kind = v.kind
     and p.key = v.key and p.version = v.version) as publications`;

const VERSION_ROWS = `template_versions v
  join templates t on t.workspace_id = v.workspace_id and t.kind = v.kind and t.key = v.key
  cross join lateral (select p.* from template_publications p
    where p.workspace_id = v.workspace_id and p.kind = v.kind and p.key = v.key
      and p.version = v.version order by p.ordinal desc limit 1) last
  where v.workspace_id = $1 and v.kind = $2 and v.key = $3`;

/** Newest first; `before` is the last version of the previous page. */
export async function listVersions(
  db: Queryable,
  { workspaceId, kind, key }: ContentRef,
  page: { before?: number; limit: number },
): Promise<Version[]> {
  const { rows } = await db.query<Version>(
    `select ${VERSION_COLUMNS} from ${VERSION_ROWS} and ($4::int is null or v.version < $4)
     order by v.version desc limit $5`,
    [workspaceId, kind, key, page.before ?? null, page.limit],
  );
  return rows;
}

export async function findVersion(
  db: Queryable,
  { workspaceId, kind, key }: ContentRef,
  version: number,
): Promise<(Version & { content: StoredContent }) | undefined> {
  const { rows } = await db.query<Version & { content: StoredContent }>(
    `select ${VERSION_COLUMNS}, v.content from ${VERSION_ROWS} and v.version = $4`,
    [workspaceId, kind, key, versionParameter(version)],
  );
  return rows[0];
}

/** Callers may pass any integer. One that exceeds the column's type maps to 0, which is never a version. */
export function versionParameter(version: number): number {
  return version < 2 ** 31 ? version : 0;
}

/** Notifies every node on commit, so that their caches drop the workspace's templates. */
export async function notifyTemplatesChanged(db: Queryable, workspaceId: string): Promise<void> {
  await db.query(`select pg_notify(${channel('templates')}, $1)`, [workspaceId]);
}

/** Whether messages created from the template are still scheduled, in either mode. */
export async function hasScheduledMessages(
  db: Queryable,
  { workspaceId, key }: Pick<ContentRef, 'workspaceId' | 'key'>,
  nowMs: number,
): Promise<boolean> {
  const { rows } = await db.query<{ isScheduled: boolean }>(
    `select exists (select from messages m
       where m.workspace_id = $1 and m.template_key = $2 and m.scheduled_at >= $3
         and exists (select from deliveries d where d.workspace_id = m.workspace_id
           and d.mode = m.mode and d.message_id = m.id and d.status = 'scheduled')) as "isScheduled"`,
    // Messages overdue for days are no longer scheduled; going back further would scan the history.
    [workspaceId, key, sqlTime(nowMs - SCHEDULE_OVERDUE_MAX_MS)],
  );
  return rows[0]?.isScheduled ?? false;
}

const SCHEDULE_OVERDUE_MAX_MS = 3 * 24 * 60 * 60 * 1000;
