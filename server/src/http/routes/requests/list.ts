import { Type } from 'typebox';
import type { Pool } from '../../../db/connections/pool.ts';
import { decodeId } from '../../../lib/ids.ts';
import {
  listLoggedRequests,
  publicRequest,
  type RequestQuery,
} from '../../../logs/list-requests.ts';
import type { RequestLog } from '../../../logs/request-log.ts';
import { findRequest } from '../../../logs/request-log-store.ts';
import { closed, LIMIT_DEFAULT, oneOf, PAGE, page } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import type { LargeResponseLimiter } from '../../server/large-response-limiter.ts';
import { encodeCursor, uuidCursor } from '../../validation/cursor.ts';
import { parseTimeParameter } from '../../validation/query-parameters.ts';
import { LoggedRequest, METHODS } from './schemas.ts';

const LIST = '/requests';

export function listRequests(deps: {
  pool: Pool;
  requestLog: RequestLog;
  /** A filter may examine thousands of rows, so a workspace runs one such list at a time. */
  filteredLists: LargeResponseLimiter;
}): Operation {
  return operation(
    {
      id: 'listRequests',
      method: 'GET',
      path: '/requests',
      tag: 'Logs',
      summary: 'List API requests',
      description:
        'Newest first, a second after they were answered at the latest. Requests of your API keys, ' +
        'and requests of signed-in users that changed something or failed. When a workspace sends ' +
        'more than 50 successful requests per second, one in 20 of the others is kept. Filters ' +
        'can be combined. A request examines a limited number of entries, so a page may be short ' +
        'or empty and still have a `next_cursor`.',
      scope: 'read:logs',
      query: closed({
        ...PAGE,
        status: Type.Optional(
          Type.String({
            pattern: '^[2-5]([0-9]{2}|xx)$',
            description: 'A status (`422`) or a class (`4xx`).',
            examples: ['4xx'],
          }),
        ),
        api_key_id: Type.Optional(
          Type.String({ maxLength: 64, description: 'Requests of this API key.' }),
        ),
        method: Type.Optional(oneOf(METHODS)),
        path: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 200,
            description: 'A part of the path, such as `/transactional`.',
          }),
        ),
        request_id: Type.Optional(
          Type.String({ maxLength: 64, description: 'The value of `X-Request-Id`.' }),
        ),
        created_after: Type.Optional(Type.String({ format: 'date-time' })),
        created_before: Type.Optional(Type.String({ format: 'date-time' })),
      }),
      queryParsers: [(query) => uuidCursor(LIST, query)],
      responses: {
        200: { description: 'A page of requests.', body: page(LoggedRequest, 'RequestPage') },
      },
      problems: ['quota_exceeded'],
    },
    async ({ caller, query, signal }) => {
      await deps.requestLog.flush();
      if (query.request_id !== undefined) {
        const id = decodeId('req', query.request_id);
        const found = id === undefined ? undefined : await findRequest(deps.pool, caller, id);
        return {
          status: 200,
          body: { data: found ? [publicRequest(found)] : [], next_cursor: null },
        };
      }
      const limit = query.limit ?? LIMIT_DEFAULT;
      const filter = filterOf(query);
      if (Object.keys(filter).length > 0) {
        await deps.filteredLists.acquire(caller.workspaceId, signal);
      }
      const beforeId = uuidCursor(LIST, query);
      const found = await listLoggedRequests(deps.pool, caller, filter, { beforeId, limit });
      const { nextBeforeId } = found;
      return {
        status: 200,
        body: {
          data: found.rows.map(publicRequest),
          next_cursor: nextBeforeId === null ? null : encodeCursor(LIST, [nextBeforeId]),
        },
      };
    },
  );
}

function filterOf(query: {
  status?: string;
  api_key_id?: string;
  method?: string;
  path?: string;
}): RequestQuery {
  const { status, api_key_id: actor, method, path } = query;
  return {
    ...(status === undefined ? {} : statusRange(status)),
    ...(actor === undefined ? {} : { actor }),
    ...(method === undefined ? {} : { method }),
    ...(path === undefined ? {} : { path }),
    ...parseTimeParameter('createdAfterMs', 'created_after', query),
    ...parseTimeParameter('createdBeforeMs', 'created_before', query),
  };
}

function statusRange(status: string): Required<Pick<RequestQuery, 'statusMin' | 'statusMax'>> {
  if (!status.endsWith('xx')) return { statusMin: Number(status), statusMax: Number(status) };
  const statusMin = Number(status[0]) * 100;
  return { statusMin, statusMax: statusMin + 99 };
}
