import type { TenantScope } from '../accounts/tenant-scope.ts';
import type { Pool, Queryable } from '../db/connections/pool.ts';
import { sqlTime } from '../db/schema/row-types.ts';
import type { ContactImportsRow } from '../db/schema/tables.ts';
import { selectList } from '../db/statements/select-list.ts';
import type { ImportCursor, ImportFormat, LineFailure } from './import-lines.ts';

/** The rows of imports: the uploaded chunks, the cursor, the counts and the failed lines. */

export type ImportStatus = 'uploading' | 'queued' | 'running' | 'finished' | 'failed';

export interface ContactImport extends TenantScope {
  id: string;
  format: ImportFormat;
  status: ImportStatus;
  bytesTotal: number;
  cursor: ImportCursor;
  counts: ImportCounts;
  createdAtMs: number;
  finishedAtMs: number | null;
}

export interface ImportCounts {
  created: number;
  updated: number;
  unchanged: number;
  failed: number;
}

/** All chunks except the last have this size, so that a file position determines its chunk. */
export const CHUNK_BYTES = 64 * 1024;

interface ImportRow extends TenantScope, ImportCounts {
  id: string;
  kind: ImportFormat['kind'];
  columns: Omit<Extract<ImportFormat, { kind: 'csv' }>, 'kind'> | null;
  status: ImportStatus;
  bytesTotal: number;
  bytesDone: number;
  lines: number;
  inSkippedLine: boolean;
  createdAtMs: number;
  finishedAtMs: number | null;
}

const COLUMNS = selectList<ContactImportsRow, ImportRow>({
  workspaceId: 'workspace_id',
  mode: 'mode',
  id: 'id',
  kind: 'format',
  columns: 'columns',
  status: 'status',
  bytesTotal: 'bytes_total',
  bytesDone: 'bytes_done',
  lines: 'lines',
  inSkippedLine: 'in_skipped_line',
  created: 'created',
  updated: 'updated',
  unchanged: 'unchanged',
  failed: 'failed',
  createdAtMs: 'created_at',
  finishedAtMs: 'finished_at',
});

function toImport(row: ImportRow): ContactImport {
  const { kind, columns, bytesDone, lines, inSkippedLine, created, updated, ...rest } = row;
  const { unchanged, failed, ...plain } = rest;
  return {
    ...plain,
    format: kind === 'csv' && columns ? { kind, ...columns } : { kind: 'ndjson' },
    cursor: { bytes: bytesDone, lines, inSkippedLine },
    counts: { created, updated, unchanged, failed },
  };
}

export async function countOpenImports(db: Queryable, scope: TenantScope): Promise<number> {
  const { rows } = await db.query<{ open: number }>(
    `select count(*) as open from contact_imports
     where workspace_id = $1 and mode = $2 and status in ('uploading', 'queued', 'running')`,
    [scope.workspaceId, scope.mode],
  );
  return rows[0]?.open ?? 0;
}

/** Inserts an import whose upload is starting. */
export async function insertImport(
  db: Queryable,
  upload: TenantScope & {
    id: string;
    format: ImportFormat;
    start: ImportCursor;
    createdBy: string;
    createdAtMs: number;
  },
): Promise<void> {
  const { kind, ...columns } = upload.format;
  await db.query(
    `insert into contact_imports (workspace_id, mode, id, format, columns, status, bytes_done,
       lines, created_by, created_at, last_progress_at)
     values ($1, $2, $3, $4, $5, 'uploading', $6, $7, $8, $9, $9)`,
    [
      upload.workspaceId,
      upload.mode,
      upload.id,
      kind,
      kind === 'csv' ? JSON.stringify(columns) : null,
      upload.start.bytes,
      upload.start.lines,
      upload.createdBy,
      sqlTime(upload.createdAtMs),
    ],
  );
}

export async function insertChunk(
  db: Queryable,
  scope: TenantScope,
  importId: string,
  ordinal: number,
  content: Buffer,
): Promise<void> {
  await db.query({
    name: 'insert-import-chunk',
    text: `insert into contact_import_chunks (workspace_id, mode, import_id, ordinal, content)
      values ($1, $2, $3, $4, $5)`,
    values: [scope.workspaceId, scope.mode, importId, ordinal, content],
  });
}

/**
 * The upload is complete. From now on the import will be completed, whatever happens to this
 * process.
 */
export async function queueImport(
  db: Queryable,
  scope: TenantScope,
  id: string,
  bytesTotal: number,
  nowMs: number,
): Promise<ContactImport | undefined> {
  const { rows } = await db.query<ImportRow>(
    `update contact_imports set status = 'queued', bytes_total = $4, last_progress_at = $5
     where workspace_id = $1 and mode = $2 and id = $3 and status = 'uploading'
     returning ${COLUMNS}`,
    [scope.workspaceId, scope.mode, id, bytesTotal, sqlTime(nowMs)],
  );
  return rows[0] && toImport(rows[0]);
}

export async function deleteImport(db: Queryable, scope: TenantScope, id: string): Promise<void> {
  await db.query('delete from contact_imports where workspace_id = $1 and mode = $2 and id = $3', [
    scope.workspaceId,
    scope.mode,
    id,
  ]);
}

export async function findImport(
  db: Queryable,
  scope: TenantScope,
  id: string,
): Promise<ContactImport | undefined> {
  const { rows } = await db.query<ImportRow>(
    `select ${COLUMNS} from contact_imports
     where workspace_id = $1 and mode = $2 and id = $3 and status <> 'uploading'`,
    [scope.workspaceId, scope.mode, id],
  );
  return rows[0] && toImport(rows[0]);
}

/**
 * The import that has waited longest, locked until the transaction ends. The lock is the claim:
 * when a worker dies, its transaction is rolled back, and the next worker finds the cursor
 * unchanged.
 */
export async function claimImport(db: Queryable): Promise<ContactImport | undefined> {
  const { rows } = await db.query<ImportRow>({
    name: 'claim-import',
    text: `select ${COLUMNS} from contact_imports i where status in ('queued', 'running')
        and not exists (select from workspaces w
                         where w.id = i.workspace_id and w.purge_started_at is not null)
      order by last_progress_at limit 1 for update of i skip locked`,
  });
  return rows[0] && toImport(rows[0]);
}

/** Reads the upload from the cursor on, at most `chunksMax` chunks. */
export async function readWindow(
  db: Queryable,
  job: ContactImport,
  chunksMax: number,
): Promise<{ window: Buffer; atEnd: boolean }> {
  const first = Math.floor(job.cursor.bytes / CHUNK_BYTES);
  const { rows } = await db.query<{ content: Buffer }>({
    name: 'read-import-chunks',
    text: `select content from contact_import_chunks
      where workspace_id = $1 and mode = $2 and import_id = $3
        and ordinal >= $4 and ordinal < $4 + $5 order by ordinal`,
    values: [job.workspaceId, job.mode, job.id, first, chunksMax],
  });
  const content = Buffer.concat(rows.map((row) => row.content));
  const window = content.subarray(job.cursor.bytes - first * CHUNK_BYTES);
  return { window, atEnd: job.cursor.bytes + window.length >= job.bytesTotal };
}

/** Advances the cursor, in the transaction that wrote the lines before it. */
export async function advanceImport(
  db: Queryable,
  job: ContactImport,
  next: ImportCursor,
  counts: ImportCounts,
  nowMs: number,
): Promise<void> {
  const finished = next.bytes >= job.bytesTotal;
  await db.query({
    name: 'advance-import',
    text: `update contact_imports set status = case when $5 then 'finished' else 'running' end,
        bytes_done = $6, lines = $7, in_skipped_line = $8, created = created + $9,
        updated = updated + $10, unchanged = unchanged + $11, failed = failed + $12, failed_batches = 0,
        last_progress_at = $4, finished_at = case when $5 then $4::timestamptz end
      where workspace_id = $1 and mode = $2 and id = $3`,
    values: [
      job.workspaceId,
      job.mode,
      job.id,
      sqlTime(nowMs),
      finished,
      next.bytes,
      next.lines,
      next.inSkippedLine,
      counts.created,
      counts.updated,
      counts.unchanged,
      counts.failed,
    ],
  });
  await db.query({
    name: 'delete-import-chunks',
    text: `delete from contact_import_chunks
      where workspace_id = $1 and mode = $2 and import_id = $3 and ordinal < $4`,
    values: [
      job.workspaceId,
      job.mode,
      job.id,
      finished ? 2 ** 31 - 1 : Math.floor(next.bytes / CHUNK_BYTES),
    ],
  });
}

export async function insertFailures(
  db: Queryable,
  job: ContactImport,
  failures: readonly (LineFailure & { line: number })[],
): Promise<void> {
  if (failures.length === 0) return;
  await db.query({
    name: 'insert-import-failures',
    text: `insert into contact_import_failures (workspace_id, mode, import_id, line, field, code, detail)
      select $1, $2, $3, f.line, f.field, f.code, f.detail
      from json_to_recordset($4::json) as f(line integer, field text, code text, detail text)`,
    values: [job.workspaceId, job.mode, job.id, JSON.stringify(failures)],
  });
}

export async function listFailures(
  db: Queryable,
  scope: TenantScope,
  importId: string,
  page: { afterLine: number; limit: number },
): Promise<(LineFailure & { line: number })[]> {
  const { rows } = await db.query<LineFailure & { line: number }>(
    `select line, field, code, detail from contact_import_failures
     where workspace_id = $1 and mode = $2 and import_id = $3 and line > $4
     order by line limit $5`,
    [scope.workspaceId, scope.mode, importId, page.afterLine, page.limit],
  );
  return rows;
}

/** Records an internal error in a batch. After too many in a row the import fails. */
export async function recordBatchFailure(
  db: Queryable,
  job: ContactImport,
  failuresMax: number,
  nowMs: number,
): Promise<void> {
  await db.query(
    `update contact_imports set failed_batches = failed_batches + 1, last_progress_at = $5,
       status = case when failed_batches + 1 >= $4 then 'failed' else status end,
       finished_at = case when failed_batches + 1 >= $4 then $5::timestamptz end
     where workspace_id = $1 and mode = $2 and id = $3 and status in ('queued', 'running')`,
    [job.workspaceId, job.mode, job.id, failuresMax, sqlTime(nowMs)],
  );
}

/** Deletes uploads that were never completed, and expired reports. */
export async function deleteExpiredImports(
  pool: Pool,
  bounds: { uploadingBeforeMs: number; finishedBeforeMs: number },
): Promise<void> {
  await pool.query(
    `delete from contact_imports
     where (status = 'uploading' and last_progress_at < $1) or finished_at < $2`,
    [sqlTime(bounds.uploadingBeforeMs), sqlTime(bounds.finishedBeforeMs)],
  );
}
