import type { TenantScope } from '../accounts/tenant-scope.ts';
import type { Pool } from '../db/connections/pool.ts';
import { encodeId, LAST_UUID, uuidFloor, uuidTime } from '../lib/ids.ts';
import {
  type LoggedRequest,
  type LoggedRequestDetails,
  type RequestFilter,
  scanRequests,
} from './request-log-store.ts';
import { type LogPage, scanPage } from './scan-pages.ts';

/** Lists the requests of a workspace, newest first. */

export interface RequestQuery extends RequestFilter {
  createdAfterMs?: number;
  createdBeforeMs?: number;
}

export function listLoggedRequests(
  pool: Pool,
  scope: TenantScope,
  { createdAfterMs = 0, createdBeforeMs, ...filter }: RequestQuery,
  page: { beforeId: string | undefined; limit: number },
): Promise<LogPage<LoggedRequest>> {
  const endId = createdBeforeMs === undefined ? LAST_UUID : uuidFloor(createdBeforeMs);
  const { beforeId = endId, limit } = page;
  const bounds = {
    beforeId: beforeId < endId ? beforeId : endId,
    sinceId: uuidFloor(createdAfterMs),
    limit,
    isFiltered: Object.keys(filter).length > 0,
  };
  return scanPage(bounds, (step) => scanRequests(pool, scope, filter, step));
}

export function publicRequest(request: LoggedRequest) {
  const { actor } = request;
  return {
    id: encodeId('req', request.id),
    created_at: new Date(uuidTime(request.id)).toISOString(),
    method: request.method,
    path: request.path,
    operation: request.operation,
    status: request.status,
    duration_ms: request.durationMs,
    actor,
    api_key_id: actor.startsWith('key_') ? actor : null,
    ip: request.ip,
    user_agent: request.userAgent,
    message_id: request.messageId === null ? null : encodeId('msg', request.messageId),
    problem_code: request.problemCode,
  };
}

export function publicRequestDetails(request: LoggedRequestDetails) {
  const { problem, query, body } = request;
  return { ...publicRequest(request), problem, query, body };
}
