import type { Queryable } from '../storage/pool.ts';
import type { ContentKind, StoredContent } from './stored-content.ts';
import { type Ref, versionSought } from './template-store.ts';

/**
 * What belongs together: a template with its layout and all partials that can be reached, each in
 * the version that is published now. One statement sees one moment: a publication is seen as a whole
 * or not at all.
 */

export interface Ingredient {
  kind: ContentKind;
  key: string;
  id: string;
  /** Null: the draft, in this revision. */
  version: number | null;
  revision: number;
  /** Null when it was not asked for. */
  content: StoredContent | null;
}

export interface RecipeQuery {
  /** Null: the published one. */
  version: number | 'draft' | null;
  withContent: boolean;
  /** What it uses may be a draft, as long as nothing of that was ever published. */
  draftsUsed?: boolean;
}

/** The thing itself first. Empty when there is no such thing or version. */
export async function readRecipe(
  db: Queryable,
  { workspaceId, kind, key }: Ref,
  query: RecipeQuery,
): Promise<Ingredient[]> {
  const { version } = query;
  const draft = version === 'draft';
  const sought = typeof version === 'number' ? versionSought(version) : version;
  const { rows } = await db.query<Ingredient>({
    text: `with recursive used as (
        ${draft ? DRAFT_ROOT : VERSION_ROOT}
        union
        select u.step + 1, ${query.draftsUsed ? DRAFT_USED : USED}
      )
      select distinct on (u.kind, u.key) u.step, u.kind, u.key, u.id, u.version,
        case when u.version is null then u.revision else 0 end as revision,
        case when $4 then coalesce(v.content, t.draft) end as content
      from used u
      join templates t on t.workspace_id = $1 and t.kind = u.kind and t.key = u.key
      left join template_versions v on v.workspace_id = $1 and v.kind = u.kind and v.key = u.key
        and v.version = u.version
      order by u.kind, u.key, u.step`,
    values: [workspaceId, kind, key, query.withContent, ...(draft ? [] : [sought])],
  });
  return rows.sort((a, b) => Number(isRoot(b)) - Number(isRoot(a)));

  function isRoot(row: Ingredient): boolean {
    return row.kind === kind && row.key === key;
  }
}

const DRAFT_ROOT = `select 0 as step, t.kind, t.key, t.id, null::int as version,
    t.draft_revision as revision, t.draft_layout as layout, t.draft_partials as partials
  from templates t where t.workspace_id = $1 and t.kind = $2 and t.key = $3`;

const VERSION_ROOT = `select 0 as step, t.kind, t.key, t.id, v.version,
    0 as revision, v.layout, v.partials
  from templates t join template_versions v on v.workspace_id = t.workspace_id and v.kind = t.kind
    and v.key = t.key and v.version = coalesce($5::int, t.published_version)
  where t.workspace_id = $1 and t.kind = $2 and t.key = $3`;

/** Deeper than rendering goes; a circle among drafts ends here. */
const STEPS_MAX = 12;

const JOINED = `from used u join templates t on t.workspace_id = $1 and u.step < ${STEPS_MAX}
  and (t.kind = 'layout' and t.key = u.layout or t.kind = 'partial' and t.key = any(u.partials))`;

const PUBLISHED = `template_versions v on v.workspace_id = $1 and v.kind = t.kind and v.key = t.key
  and v.version = t.published_version`;

const USED = `t.kind, t.key, t.id, v.version, 0, null::text, v.partials ${JOINED} join ${PUBLISHED}`;

const DRAFT_USED = `t.kind, t.key, t.id, v.version,
  case when v.version is null then t.draft_revision else 0 end, null::text,
  coalesce(v.partials, t.draft_partials) ${JOINED} left join ${PUBLISHED}`;

export interface User {
  kind: ContentKind;
  key: string;
  version: number;
}

/** Everything published that uses a layout or partial, directly or through partials. */
export async function findUsers(
  db: Queryable,
  { workspaceId, kind, key }: Ref,
  limit: number,
): Promise<User[]> {
  const { rows } = await db.query<User>(
    `with recursive users as (
       select $2::text as kind, $3::text collate "C" as key, null::int as version
       union
       select v.kind, v.key, v.version from users u
         join template_versions v on v.workspace_id = $1
           and (u.kind = 'layout' and v.layout = u.key or u.kind = 'partial' and u.key = any(v.partials))
         join templates t on t.workspace_id = $1 and t.kind = v.kind and t.key = v.key
           and t.published_version = v.version)
     select kind, key, version from users where version is not null and not (kind = $2 and key = $3)
     order by kind, key limit $4`,
    [workspaceId, kind, key, limit],
  );
  return rows;
}
