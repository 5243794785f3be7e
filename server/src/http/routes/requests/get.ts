import type { Pool } from '../../../db/connections/pool.ts';
import { publicRequestDetails } from '../../../logs/list-requests.ts';
import type { RequestLog } from '../../../logs/request-log.ts';
import { findRequest } from '../../../logs/request-log-store.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId, notFound } from '../../validation/path-id.ts';
import { LoggedRequestDetails } from './schemas.ts';

export function getRequest(deps: { pool: Pool; requestLog: RequestLog }): Operation {
  return operation(
    {
      id: 'getRequest',
      method: 'GET',
      path: '/requests/{id}',
      tag: 'Logs',
      summary: 'Retrieve an API request',
      description:
        'A failed request has its problem, with the fix, and what was sent, without secrets.',
      scope: 'read:logs',
      params: pathId('req', 'the request'),
      responses: { 200: { description: 'The request.', body: LoggedRequestDetails } },
      problems: ['not_found'],
    },
    async ({ caller, params }) => {
      const id = decodePathId('req', (params as { id: string }).id, 'request');
      await deps.requestLog.flush();
      const found = await findRequest(deps.pool, caller, id);
      if (!found) throw notFound('request in the log');
      return { status: 200, body: publicRequestDetails(found) };
    },
  );
}
