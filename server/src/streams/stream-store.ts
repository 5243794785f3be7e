import { channel } from '../db/connections/notification-channels.ts';
import type { Queryable } from '../db/connections/pool.ts';
import { sqlTime } from '../db/schema/row-types.ts';
import type { StreamsRow } from '../db/schema/tables.ts';
import { selectList } from '../db/statements/select-list.ts';
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
  fromEmail: 'from_email',
  fromName: 'from_name',
  route: 'route',
  messagesPerMinute: 'messages_per_minute',
  contentRetentionDays: 'content_retention_days',
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
       updated_at, brand_name, brand_logo_url, brand_color, from_email, from_name,
       messages_per_minute, content_retention_days, route)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
     on conflict (workspace_id, key) do update set name = excluded.name,
       track_opens = excluded.track_opens, track_clicks = excluded.track_clicks,
       brand_name = excluded.brand_name, brand_logo_url = excluded.brand_logo_url,
       brand_color = excluded.brand_color, from_email = excluded.from_email,
       from_name = excluded.from_name, messages_per_minute = excluded.messages_per_minute,
       content_retention_days = excluded.content_retention_days,
       content_checked_at = null, route = excluded.route, updated_at = excluded.updated_at`,
    [
      ...[workspaceId, stream.key, stream.name, stream.purpose],
      ...[stream.trackOpens, stream.trackClicks],
      ...[sqlTime(stream.createdAtMs), sqlTime(stream.updatedAtMs)],
      ...[stream.brandName, stream.brandLogoUrl, stream.brandColor],
      ...[stream.fromEmail, stream.fromName],
      ...[stream.messagesPerMinute, stream.contentRetentionDays, stream.route],
    ],
  );
}

/** A stream whose content is kept for a shorter time than that of other mail. */
export interface StreamRetention {
  workspaceId: string;
  key: string;
  days: number;
  liveCursor: string | null;
  testCursor: string | null;
}

const RETENTION = selectList<StreamsRow, Omit<StreamRetention, 'days'>>({
  workspaceId: 'workspace_id',
  key: 'key',
  liveCursor: 'live_content_cursor',
  testCursor: 'test_content_cursor',
});

/** The stream that has waited longest since before this time, locked until the transaction ends. */
export async function claimStreamRetention(
  db: Queryable,
  checkedBeforeMs: number,
): Promise<StreamRetention | undefined> {
  const { rows } = await db.query<StreamRetention>(
    `select ${RETENTION}, content_retention_days as days from streams
     where content_retention_days is not null
       and (content_checked_at is null or content_checked_at < $1)
     order by content_checked_at nulls first limit 1 for update skip locked`,
    [sqlTime(checkedBeforeMs)],
  );
  return rows[0];
}

/** `checkedAtMs` is null while there is more to delete. */
export async function advanceStreamRetention(
  db: Queryable,
  { workspaceId, key, liveCursor, testCursor }: StreamRetention,
  checkedAtMs: number | null,
): Promise<void> {
  await db.query(
    `update streams set live_content_cursor = $3, test_content_cursor = $4,
       content_checked_at = coalesce($5, content_checked_at)
     where workspace_id = $1 and key = $2`,
    [workspaceId, key, liveCursor, testCursor, sqlTime(checkedAtMs)],
  );
}

export async function deleteStream(db: Queryable, workspaceId: string, key: string): Promise<void> {
  await db.query('delete from streams where workspace_id = $1 and key = $2', [workspaceId, key]);
}

export interface StreamUse {
  kind: 'API key' | 'template' | 'webhook';
  name: string;
}

/** Something that names the stream and would break without it. */
export async function findStreamUse(
  db: Queryable,
  workspaceId: string,
  key: string,
): Promise<StreamUse | undefined> {
  const { rows } = await db.query<StreamUse>(
    `(select 'API key' as kind, name from api_keys
       where workspace_id = $1 and revoked_at is null and $2 = any(allowed_streams) limit 1)
     union all
     (select 'template', t.key from templates t left join template_versions v
         on v.workspace_id = t.workspace_id and v.kind = t.kind and v.key = t.key
        and v.version = t.published_version
       where t.workspace_id = $1 and t.kind = 'template'
         and $2 in (t.draft->>'stream', v.content->>'stream') limit 1)
     union all
     (select 'webhook', url from webhooks where workspace_id = $1 and $2 = any(streams) limit 1)
     limit 1`,
    [workspaceId, key],
  );
  return rows[0];
}

export async function notifyStreamsChanged(db: Queryable, workspaceId: string): Promise<void> {
  await db.query(`select pg_notify(${channel('streams')}, $1)`, [workspaceId]);
}
