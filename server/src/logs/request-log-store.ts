import type { TenantScope } from '../accounts/tenant-scope.ts';
import type { Queryable } from '../db/connections/pool.ts';
import type { RequestLogRow } from '../db/schema/tables.ts';
import { recordset } from '../db/statements/recordset.ts';
import { selectList } from '../db/statements/select-list.ts';
import { uuidRange } from '../lib/ids.ts';
import type { Scan, ScanBounds } from './scan-pages.ts';

/** Writes and reads the request log. */

/** A row as it is inserted: JSON as text. */
export interface NewRequestRow extends Omit<RequestLogRow, 'problem' | 'query' | 'body'> {
  problem: string | null;
  query: string | null;
  body: string | null;
}

const ROWS = recordset<NewRequestRow>({
  workspace_id: 'uuid',
  mode: 'mode',
  id: 'uuid',
  method: 'text',
  path: 'text',
  operation: 'text',
  status: 'smallint',
  duration_ms: 'integer',
  actor: 'text',
  ip: 'text',
  user_agent: 'text',
  message_id: 'uuid',
  problem: 'json',
  query: 'json',
  body: 'json',
});

export async function insertRequests(db: Queryable, rows: readonly NewRequestRow[]): Promise<void> {
  await db.query({
    name: 'insert-requests',
    text: `insert into request_log (${ROWS.columns()})
      select ${ROWS.columns()} from ${ROWS.table('r', 1)}`,
    values: ROWS.parameters(rows),
  });
}

export interface LoggedRequest {
  id: string;
  method: string;
  path: string;
  operation: string | null;
  status: number;
  durationMs: number;
  actor: string;
  ip: string;
  userAgent: string;
  messageId: string | null;
  problemCode: string | null;
}

const SUMMARY = `${selectList<RequestLogRow, Omit<LoggedRequest, 'problemCode'>>({
  id: 'id',
  method: 'method',
  path: 'path',
  operation: 'operation',
  status: 'status',
  durationMs: 'duration_ms',
  actor: 'actor',
  ip: 'ip',
  userAgent: 'user_agent',
  messageId: 'message_id',
})}, problem ->> 'code' as "problemCode"`;

export interface RequestFilter {
  /** Both inclusive. */
  statusMin?: number;
  statusMax?: number;
  /** The public id of an API key or a person. */
  actor?: string;
  method?: string;
  /** A part of the path. */
  path?: string;
}

/**
 * Scans at most `scanMax` requests before `beforeId`, newest first, and returns those that match.
 * `lastId` is the last request scanned, for the next call. Failed requests have an index of their
 * own, so that they are found among any number of successful ones.
 */
export async function scanRequests(
  db: Queryable,
  scope: TenantScope,
  filter: RequestFilter,
  bounds: ScanBounds,
): Promise<Scan<LoggedRequest>> {
  const onlyFailed = (filter.statusMin ?? 0) >= 400;
  const { rows } = await db.query<LoggedRequest & { matched: boolean; scanned: number }>({
    name: onlyFailed ? 'scan-failed-requests' : 'scan-requests',
    text: `with scanned as materialized (
        select ${SUMMARY} from request_log
        where workspace_id = $1 and mode = $2 and id < $3 and id >= $4
          ${onlyFailed ? 'and status >= 400' : ''}
        order by id desc limit $5),
      tested as (
        select *, ($6::smallint is null or status between $6 and $7)
          and ($8::text is null or actor = $8) and ($9::text is null or method = $9)
          and ($10::text is null or strpos(path, $10) > 0) as matched from scanned)
      select *, (select count(*) from scanned) as scanned from tested
      where matched or id = (select id from scanned order by id limit 1) order by id desc`,
    values: [
      scope.workspaceId,
      scope.mode,
      bounds.beforeId,
      bounds.sinceId,
      bounds.scanMax,
      filter.statusMin ?? null,
      filter.statusMax ?? null,
      filter.actor ?? null,
      filter.method ?? null,
      filter.path ?? null,
    ],
  });
  return {
    matches: rows.filter(({ matched }) => matched),
    scanned: rows[0]?.scanned ?? 0,
    lastId: rows.at(-1)?.id ?? null,
  };
}

export interface LoggedRequestDetails extends LoggedRequest {
  problem: object | null;
  query: object | null;
  body: unknown;
}

export async function findRequest(
  db: Queryable,
  scope: TenantScope,
  id: string,
): Promise<LoggedRequestDetails | undefined> {
  const { rows } = await db.query<LoggedRequestDetails>({
    name: 'find-request',
    text: `select ${SUMMARY}, problem, query, body from request_log
      where workspace_id = $1 and mode = $2 and id = $3`,
    values: [scope.workspaceId, scope.mode, id],
  });
  return rows[0];
}

/** What may contain an address, for privacy/erase-address.ts. */
export interface ErasableRequest {
  id: string;
  problem: object | null;
  query: object | null;
  body: unknown;
}

/** Of the next failed requests, those that contain the text; and the id of the last one read. */
export async function readFailedRequests(
  db: Queryable,
  scope: TenantScope,
  needle: string,
  afterId: string,
  limit: number,
): Promise<{ requests: ErasableRequest[]; lastId: string | null }> {
  const { rows } = await db.query<ErasableRequest & { holds: boolean }>({
    name: 'erasure-read-requests',
    text: `select id, holds, case when holds then problem end as problem,
        case when holds then query end as query, case when holds then body end as body
      from (select id, problem, query, body,
              strpos(lower(concat(problem, query, body)), $4) > 0 as holds
            from request_log
            where workspace_id = $1 and mode = $2 and id > $3 and status >= 400
            order by id limit $5) r
      order by id`,
    values: [scope.workspaceId, scope.mode, afterId, needle, limit],
  });
  const lastId = rows.length < limit ? null : (rows.at(-1)?.id ?? null);
  return { requests: rows.filter(({ holds }) => holds), lastId };
}

export async function rewriteRequests(
  db: Queryable,
  scope: TenantScope,
  requests: readonly ErasableRequest[],
): Promise<void> {
  if (requests.length === 0) return;
  await db.query({
    name: 'erasure-write-requests',
    text: `update request_log l set problem = r.problem, query = r.query, body = r.body
      from json_to_recordset($3::json) as r(id uuid, problem json, query json, body json)
      where l.workspace_id = $1 and l.mode = $2 and l.id = r.id and l.id between $4 and $5`,
    values: [
      scope.workspaceId,
      scope.mode,
      JSON.stringify(
        requests.map(({ id, problem, query, body }) => ({ id, problem, query, body })),
      ),
      ...uuidRange(requests.map(({ id }) => id)),
    ],
  });
}
