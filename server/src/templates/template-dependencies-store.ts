import type { Queryable } from '../db/connections/pool.ts';
import type { ContentKind, StoredContent } from './content/stored-content.ts';
import { ContentLimitError } from './template-engine.ts';
import { type ContentRef, versionParameter } from './template-store.ts';

/**
 * Reads a template with its layout and all reachable partials, each in its published version. A
 * single statement reads a consistent snapshot, so a publication is seen completely or not at all.
 */

export interface TemplatePart {
  kind: ContentKind;
  key: string;
  id: string;
  /** Null: the draft, at this revision. */
  version: number | null;
  revision: number;
  /** Null when the content was not requested. */
  content: StoredContent | null;
  /** Size of the stored content; 0 when the content was not requested. */
  bytes: number;
}

/** Far more than an email needs. Every part may be large, and a send holds all of them in memory. */
const PARTS_MAX = 100;
export const PARTS_BYTES_MAX = 24 * 1024 * 1024;

export interface TemplatePartsQuery {
  /** Null: the published version. */
  version: number | 'draft' | null;
  withContent: boolean;
  /** Dependencies that were never published are read from their drafts. */
  allowDraftDependencies?: boolean;
}

/**
 * Returns the requested content first; empty when it or the version does not exist. Throws a
 * ContentLimitError when there are too many parts or bytes, without reading beyond the limit.
 */
export async function readTemplateParts(
  db: Queryable,
  { workspaceId, kind, key }: ContentRef,
  query: TemplatePartsQuery,
): Promise<TemplatePart[]> {
  const { version } = query;
  const draft = version === 'draft';
  const versionNumber = typeof version === 'number' ? versionParameter(version) : version;
  const { rows } = await db.query<TemplatePart & { partCount: number; totalBytes: number }>({
    text: `with recursive dependencies as (
        ${draft ? DRAFT_ROOT : VERSION_ROOT}
        union
        select u.step + 1, ${query.allowDraftDependencies ? DEPENDENCY_OR_DRAFT : DEPENDENCY}
      ), parts as (
        select distinct on (u.kind, u.key) u.step, u.kind, u.key, u.id, u.version,
          case when u.version is null then u.revision else 0 end as revision
        from (select * from dependencies limit ${ROWS_MAX}) u order by u.kind, u.key, u.step
      ) ${query.withContent ? WITH_CONTENT : WITHOUT_CONTENT}`,
    values: [workspaceId, kind, key, ...(draft ? [] : [versionNumber])],
  });
  assertWithinLimits(rows.at(-1)?.partCount ?? 0, rows.at(-1)?.totalBytes ?? 0);
  return rows.sort((a, b) => Number(isRoot(b)) - Number(isRoot(a)));

  function isRoot(row: TemplatePart): boolean {
    return row.kind === kind && row.key === key;
  }
}

export function assertWithinLimits(parts: number, bytes: number): void {
  if (parts > PARTS_MAX) {
    const detail = `It uses more than ${PARTS_MAX - 1} layouts and partials. Combine some of them.`;
    throw new ContentLimitError('html', detail);
  }
  if (bytes > PARTS_BYTES_MAX) {
    const detail = `Together with its layout and partials it is larger than ${PARTS_BYTES_MAX} bytes.`;
    throw new ContentLimitError('html', detail);
  }
}

const BYTES = 'lateral (select octet_length(n.content::text) as bytes) b';

const WITHOUT_CONTENT = `select p.*, null as content, 0 as bytes, 0 as "totalBytes",
    count(*) over () as "partCount"
  from parts p order by p.kind, p.key`;

/** Reads parts one by one until the limit is reached, so that contents beyond it are never detoasted. */
const WITH_CONTENT = `, numbered as (
    select p.*, coalesce(v.content, t.draft) as content, count(*) over () as "partCount",
      row_number() over (order by p.kind, p.key) as ordinal
    from parts p
    join templates t on t.workspace_id = $1 and t.kind = p.kind and t.key = p.key
    left join template_versions v on v.workspace_id = $1 and v.kind = p.kind and v.key = p.key
      and v.version = p.version
  ), within_limit as (
    select n.*, b.bytes, b.bytes as "totalBytes" from numbered n, ${BYTES} where n.ordinal = 1
    union all
    select n.*, b.bytes, k."totalBytes" + b.bytes from within_limit k
      join numbered n on n.ordinal = k.ordinal + 1, ${BYTES}
    where k."totalBytes" <= ${PARTS_BYTES_MAX} and n."partCount" <= ${PARTS_MAX}
  )
  select * from within_limit order by ordinal`;

const DRAFT_ROOT = `select 0 as step, t.kind, t.key, t.id, null::int as version,
    t.draft_revision as revision, t.draft_layout as layout, t.draft_partials as partials
  from templates t where t.workspace_id = $1 and t.kind = $2 and t.key = $3`;

const VERSION_ROOT = `select 0 as step, t.kind, t.key, t.id, v.version,
    0 as revision, v.layout, v.partials
  from templates t join template_versions v on v.workspace_id = t.workspace_id and v.kind = t.kind
    and v.key = t.key and v.version = coalesce($4::int, t.published_version)
  where t.workspace_id = $1 and t.kind = $2 and t.key = $3`;

/** Deeper than rendering allows; stops cycles among drafts. */
const DEPTH_MAX = 12;

/** Each part occurs at most once per depth, so more rows than this mean too many parts. */
const ROWS_MAX = PARTS_MAX * (DEPTH_MAX + 1) + 1;

const DEPENDENCY_JOIN = `from dependencies u join templates t on t.workspace_id = $1 and u.step < ${DEPTH_MAX}
  and (t.kind = 'layout' and t.key = u.layout or t.kind = 'partial' and t.key = any(u.partials))`;

const PUBLISHED_VERSION = `template_versions v on v.workspace_id = $1 and v.kind = t.kind and v.key = t.key
  and v.version = t.published_version`;

const DEPENDENCY = `t.kind, t.key, t.id, v.version, 0, null::text, v.partials ${DEPENDENCY_JOIN} join ${PUBLISHED_VERSION}`;

const DEPENDENCY_OR_DRAFT = `t.kind, t.key, t.id, v.version,
  case when v.version is null then t.draft_revision else 0 end, null::text,
  coalesce(v.partials, t.draft_partials) ${DEPENDENCY_JOIN} left join ${PUBLISHED_VERSION}`;

export interface Dependent {
  kind: ContentKind;
  key: string;
  version: number;
}

/** All published content that uses a layout or partial, directly or through other partials. */
export async function findDependents(
  db: Queryable,
  { workspaceId, kind, key }: ContentRef,
  limit: number,
): Promise<Dependent[]> {
  const { rows } = await db.query<Dependent>(
    `with recursive dependents as (
       select $2::text as kind, $3::text collate "C" as key, null::int as version
       union
       select v.kind, v.key, v.version from dependents u
         join template_versions v on v.workspace_id = $1
           and (u.kind = 'layout' and v.layout = u.key or u.kind = 'partial' and u.key = any(v.partials))
         join templates t on t.workspace_id = $1 and t.kind = v.kind and t.key = v.key
           and t.published_version = v.version)
     select kind, key, version from dependents where version is not null and not (kind = $2 and key = $3)
     order by kind, key limit $4`,
    [workspaceId, kind, key, limit],
  );
  return rows;
}
