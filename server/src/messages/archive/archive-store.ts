import type { TenantScope } from '../../accounts/tenant-scope.ts';
import type { Pool, PoolClient, Queryable } from '../../db/connections/pool.ts';
import { hasUnfinished } from '../../db/schema/partitions.ts';
import { sqlTime } from '../../db/schema/row-types.ts';
import { uuidRange } from '../../lib/ids.ts';
import type { MessageContent } from '../content/message-content.ts';

/** Statements of the content archive: which contents are in which pack, and the keys to read them. */

/** The day whose contents a partition holds. */
export interface ArchiveDay {
  /** Such as 20261115, as in the names of partitions. */
  name: string;
  fromMs: number;
  toMs: number;
}

export interface ContentKey extends TenantScope {
  id: string;
}

/** A content that is not in the archive yet. */
export interface UnarchivedContent extends ContentKey {
  bytes: number;
  /** The version of its row. */
  version: string;
}

export interface ArchivedEntry {
  packId: string;
  offset: number;
  length: number;
  key: Buffer;
}

/**
 * The next contents of a day that are not in the archive, in the order of their keys. Sizes are known
 * without reading, because PostgreSQL stores them beside the pointer to a large value.
 */
export async function findUnarchived(
  db: Queryable,
  day: ArchiveDay,
  afterId: string | undefined,
  limit: number,
): Promise<UnarchivedContent[]> {
  const { rows } = await db.query<UnarchivedContent>(
    `select c.workspace_id as "workspaceId", c.mode, c.id, c.xmin::text as version,
            (octet_length(c.html) + coalesce(octet_length(c.text), 0) + coalesce((
              select sum(octet_length(a.content)) from message_attachments_p${day.name} a
               where a.workspace_id = c.workspace_id and a.mode = c.mode and a.message_id = c.id), 0)
            )::bigint as bytes
       from message_contents_p${day.name} c
      where ($1::uuid is null or c.id > $1)
        and not exists (select from archived_contents_p${day.name} e
             where e.workspace_id = c.workspace_id and e.mode = c.mode and e.id = c.id)
      order by c.id limit $2`,
    [afterId ?? null, limit],
  );
  return rows;
}

/** Recorded before the object is written, so that no crash leaves an object that no one deletes. */
export async function insertPack(
  db: Queryable,
  pack: { id: string; day: ArchiveDay; bytes: number; nowMs: number },
): Promise<void> {
  await db.query(
    `insert into content_packs (id, day, expires_with, bytes, created_at) values ($1, $2, $3, $4, $5)`,
    [
      pack.id,
      sqlTime(pack.day.fromMs),
      `archived_contents_p${pack.day.name}`,
      pack.bytes,
      sqlTime(pack.nowMs),
    ],
  );
}

export interface NewEntry extends ContentKey, Omit<ArchivedEntry, 'packId'> {
  version: string;
}

/**
 * Records what a stored pack contains. Contents that were changed or deleted since they were read are
 * left out: an erasure must not be undone.
 */
export async function insertEntries(
  db: Queryable,
  day: ArchiveDay,
  packId: string,
  entries: readonly NewEntry[],
  nowMs: number,
): Promise<void> {
  await db.query(
    `with stored as (update content_packs set stored_at = $3 where id = $1 returning id)
     insert into archived_contents
       (workspace_id, mode, id, pack_id, pack_offset, length, encryption_key, is_redacted)
     select c.workspace_id, c.mode, c.id, stored.id, k."offset", k.length, decode(k.key, 'hex'),
            c.encrypted_content is not null
       from stored, json_to_recordset($2::json) as k(w uuid, m mode, id uuid, version text,
              "offset" bigint, length int, key text)
       join message_contents_p${day.name} c
         on c.workspace_id = k.w and c.mode = k.m and c.id = k.id and c.xmin::text = k.version
     on conflict do nothing`,
    [
      packId,
      JSON.stringify(
        entries.map(({ workspaceId: w, mode: m, id, version, offset, length, key }) => {
          return { w, m, id, version, offset, length, key: key.toString('hex') };
        }),
      ),
      sqlTime(nowMs),
    ],
  );
}

/**
 * Empties the partitions of a day if the archive has all of it. Returns false if it has not. Only these
 * two partitions are locked, for milliseconds; both are dropped later, with the archive of the day.
 */
export async function truncateArchived(client: PoolClient, day: ArchiveDay): Promise<boolean> {
  await client.query(`set local lock_timeout = '1s'`);
  await client.query(
    `lock table message_contents_p${day.name}, message_attachments_p${day.name}
       in access exclusive mode`,
  );
  if ((await findUnarchived(client, day, undefined, 1)).length > 0) return false;
  await client.query(`truncate message_contents_p${day.name}, message_attachments_p${day.name}`);
  return true;
}

export async function findEntry(
  db: Queryable,
  { workspaceId, mode, id }: ContentKey,
): Promise<ArchivedEntry | undefined> {
  const { rows } = await db.query<ArchivedEntry>({
    name: 'find-archived-content',
    text: `select pack_id as "packId", pack_offset as "offset", length, encryption_key as key
             from archived_contents where workspace_id = $1 and mode = $2 and id = $3`,
    values: [workspaceId, mode, id],
  });
  return rows[0];
}

/**
 * Puts a content back into the database, because its message is sent again. Its partition exists as long
 * as that of the archive.
 */
export async function restoreContent(
  db: Queryable,
  scope: TenantScope,
  id: string,
  content: MessageContent,
): Promise<void> {
  const key = [scope.workspaceId, scope.mode, id];
  await db.query(
    `insert into message_contents (workspace_id, mode, id, head, html, text)
     values ($1, $2, $3, $4, $5, $6)`,
    [...key, JSON.stringify(content.head), content.html, content.text],
  );
  for (const [ordinal, file] of content.attachments.entries()) {
    await db.query(
      `insert into message_attachments
         (workspace_id, mode, message_id, ordinal, filename, content_type, content_id, content)
       values ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [...key, ordinal, file.filename, file.contentType, file.contentId ?? null, file.content],
    );
  }
  await deleteArchivedContents(db, scope, [id]);
}

/** Without their keys, the contents cannot be read by anyone. */
export async function deleteArchivedContents(
  db: Queryable,
  { workspaceId, mode }: TenantScope,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  await db.query({
    name: 'delete-archived-contents',
    text: `delete from archived_contents
      where workspace_id = $1 and mode = $2 and id = any($3) and id between $4 and $5`,
    values: [workspaceId, mode, ids, ...uuidRange(ids)],
  });
}

const DAY_MS = 86_400_000;

/**
 * Days whose contents can be archived: over before `beforeMs`, with a partition of the archive, and
 * without deliveries that still need their content. Oldest first.
 */
export async function findArchivableDays(db: Queryable, beforeMs: number): Promise<ArchiveDay[]> {
  const { rows } = await db.query<{ name: string }>(
    `select substr(c.relname, length('message_contents_p') + 1) as name
       from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = 'message_contents'::regclass and not i.inhdetachpending
        and to_regclass('archived_contents_p' || substr(c.relname, length('message_contents_p') + 1))
            is not null
        and pg_relation_size(c.oid) > 0`,
  );
  const days = rows.map(({ name }) => {
    const date = name.replace(/^(....)(..)(..)$/, '$1-$2-$3');
    const fromMs = Date.parse(`${date}T00:00:00Z`);
    return { name, fromMs, toMs: fromMs + DAY_MS };
  });
  const past = days.filter(({ toMs }) => toMs <= beforeMs).sort((a, b) => a.fromMs - b.fromMs);
  const archivable: ArchiveDay[] = [];
  for (const day of past) if (!(await hasUnfinished(db, day))) archivable.push(day);
  return archivable;
}

/**
 * Packs whose object can be deleted: the archive of their day was dropped, or they were never completed.
 * A pack that is being written is younger than `writtenBeforeMs`.
 */
export async function findExpiredPacks(
  pool: Pool,
  writtenBeforeMs: number,
  limit: number,
): Promise<string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `select id from content_packs
      where to_regclass(expires_with) is null or (stored_at is null and created_at < $1)
      order by day limit $2`,
    [sqlTime(writtenBeforeMs), limit],
  );
  return rows.map(({ id }) => id);
}

export async function deletePack(pool: Pool, id: string): Promise<void> {
  await pool.query('delete from content_packs where id = $1', [id]);
}
