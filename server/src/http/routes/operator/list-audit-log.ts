import { type AuditLog, publicAuditEntry } from '../../../logs/audit-log.ts';
import { SERVER_LOG } from '../../../logs/audit-store.ts';
import { closed, LIMIT_DEFAULT, PAGE, page } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { encodeCursor, uuidCursor } from '../../validation/cursor.ts';
import { AuditEntry } from '../audit-log/schemas.ts';

const LIST = '/operator/audit-log';

export function listOperatorAuditLog(deps: { auditLog: AuditLog }): Operation {
  return operation(
    {
      id: 'listOperatorAuditLog',
      method: 'GET',
      path: '/operator/audit-log',
      tag: 'Operator',
      summary: 'List what operator keys changed',
      description:
        'Newest first: changes by operator keys, and the commands that created and revoked them. ' +
        'What concerns a workspace is also in the log of the workspace.',
      scope: 'operator',
      query: closed(PAGE),
      queryParsers: [(query) => uuidCursor(LIST, query)],
      responses: {
        200: { description: 'A page of entries.', body: page(AuditEntry, 'AuditLogPage') },
      },
    },
    async ({ query }) => {
      const limit = query.limit ?? LIMIT_DEFAULT;
      const beforeId = uuidCursor(LIST, query);
      const { rows, nextBeforeId } = await deps.auditLog.list(SERVER_LOG, {}, { beforeId, limit });
      const next_cursor = nextBeforeId === null ? null : encodeCursor(LIST, [nextBeforeId]);
      return { status: 200, body: { data: rows.map(publicAuditEntry), next_cursor } };
    },
  );
}
