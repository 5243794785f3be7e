import type { Queryable } from '../db/pool.ts';
import { sqlTime } from '../db/row-types.ts';
import { selectList } from '../db/select-list.ts';
import type { StreamsRow } from '../db/tables.ts';
import { DEFAULT_STREAM_KEY, type Stream } from './stream.ts';

/** A stream that has a row. */
type StoredStream = Stream & { createdAtMs: number; updatedAtMs: number };

const COLUMNS = selectList<StreamsRow, StoredStream>({
  key: 'key',
  name: 'name',
  purpose: 'purpose',
  trackOpens: 'track_opens',
  trackClicks: 'track_clicks',
  brandName: 'brand_name',
  brandLogoUrl: 'brand_logo_url',
  brandColor: 'brand_color',
  createdAtMs: 'created_at',
  updatedAtMs: 'updated_at',
});

/** The streams of a workspace that have a row. Their number is limited. */
export async function listStreams(db: Queryable, workspaceId: string): Promise<Stream[]> {
  const { rows } = await db.query<Stream>({
    name: 'list-streams',
    text: `select ${COLUMNS} from streams where workspace_id = $1 order by key`,
    values: [workspaceId],
  });
  return rows;
}

export async function streamExists(
  db: Queryable,
  workspaceId: string,
  key: string,
): Promise<boolean> {
  if (key === DEFAULT_STREAM_KEY) return true;
  const { rowCount } = await db.query('select from streams where workspace_id = $1 and key = $2', [
    workspaceId,
    key,
  ]);
  return rowCount === 1;
}

export async function saveStream(
  db: Queryable,
  workspaceId: string,
  stream: StoredStream,
): Promise<void> {
  await db.query(
    `insert into streams (workspace_id, key, name, purpose, track_opens, track_clicks, created_at,
       updated_at, brand_name, brand_logo_url, brand_color)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
     on conflict (workspace_id, key) do update set name = excluded.name,
       track_opens = excluded.track_opens, track_clicks = excluded.track_clicks,
       brand_name = excluded.brand_name, brand_logo_url = excluded.brand_logo_url,
       brand_color = excluded.brand_color, updated_at = excluded.updated_at`,
    [
      ...[workspaceId, stream.key, stream.name, stream.purpose],
      ...[stream.trackOpens, stream.trackClicks],
      ...[sqlTime(stream.createdAtMs), sqlTime(stream.updatedAtMs)],
      ...[stream.brandName, stream.brandLogoUrl, stream.brandColor],
    ],
  );
}

export async function deleteStream(db: Queryable, workspaceId: string, key: string): Promise<void> {
  await db.query('delete from streams where workspace_id = $1 and key = $2', [workspaceId, key]);
}

/** Something that names the stream and would break without it. */
export async function findStreamUse(
  db: Queryable,
  workspaceId: string,
  key: string,
): Promise<{ kind: 'API key' | 'template'; name: string } | undefined> {
  const { rows } = await db.query<{ kind: 'API key' | 'template'; name: string }>(
    `(select 'API key' as kind, name from api_keys
       where workspace_id = $1 and revoked_at is null and $2 = any(allowed_streams) limit 1)
     union all
     (select 'template', t.key from templates t left join template_versions v
         on v.workspace_id = t.workspace_id and v.kind = t.kind and v.key = t.key
        and v.version = t.published_version
       where t.workspace_id = $1 and t.kind = 'template'
         and $2 in (t.draft->>'stream', v.content->>'stream') limit 1)
     limit 1`,
    [workspaceId, key],
  );
  return rows[0];
}

export async function notifyStreamsChanged(db: Queryable, workspaceId: string): Promise<void> {
  await db.query(`select pg_notify('streams', $1)`, [workspaceId]);
}
