import { Type } from 'typebox';
import { isTestKey } from '../../../accounts/caller.ts';
import { decodeId } from '../../../lib/ids.ts';
import { invalidFields } from '../../../lib/refused-error.ts';
import { type AuditLog, publicAuditEntry } from '../../../logs/audit-log.ts';
import type { AuditFilter } from '../../../logs/audit-store.ts';
import { closed, LIMIT_DEFAULT, PAGE, page } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import type { LargeResponseLimiter } from '../../server/large-response-limiter.ts';
import { encodeCursor, uuidCursor } from '../../validation/cursor.ts';
import { parseTimeParameter } from '../../validation/query-parameters.ts';
import { AuditEntry } from './schemas.ts';

const LIST = '/audit-log';

export function listAuditLog(deps: {
  auditLog: AuditLog;
  /** A filter may examine thousands of rows, so a workspace runs one such list at a time. */
  filteredLists: LargeResponseLimiter;
}): Operation {
  return operation(
    {
      id: 'listAuditLog',
      method: 'GET',
      path: '/audit-log',
      tag: 'Logs',
      summary: 'List audit log entries',
      description:
        'Who changed what, when and from where, newest first: changes by members, API keys, the ' +
        'operator and the command line, and sign-ins of members. Sent messages are not in it. ' +
        'Entries cannot be changed or deleted. A test key sees changes in test mode. A request examines a limited ' +
        'number of entries, so a page may be short or empty and still have a `next_cursor`.',
      scope: 'read:audit_log',
      query: closed({
        ...PAGE,
        actor: Type.Optional(
          Type.String({
            maxLength: 64,
            description:
              'The id of a user (`usr_…`), an API key (`key_…`) or an operator key (`opk_…`), or `cli`.',
          }),
        ),
        action: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
        target: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
        created_after: Type.Optional(Type.String({ format: 'date-time' })),
        created_before: Type.Optional(Type.String({ format: 'date-time' })),
      }),
      queryParsers: [(query) => uuidCursor(LIST, query), (query) => actorOf(query)],
      responses: {
        200: { description: 'A page of entries.', body: page(AuditEntry, 'AuditLogPage') },
      },
      problems: ['quota_exceeded'],
    },
    async ({ caller, query, signal }) => {
      const limit = query.limit ?? LIMIT_DEFAULT;
      const filter = {
        ...(isTestKey(caller) ? { mode: 'test' as const } : {}),
        ...actorOf(query),
        ...(query.action === undefined ? {} : { action: query.action }),
        ...(query.target === undefined ? {} : { target: query.target }),
        ...parseTimeParameter('createdAfterMs', 'created_after', query),
        ...parseTimeParameter('createdBeforeMs', 'created_before', query),
      };
      if (Object.keys(filter).length > 0) {
        await deps.filteredLists.acquire(caller.workspaceId, signal);
      }
      const beforeId = uuidCursor(LIST, query);
      const { rows, nextBeforeId } = await deps.auditLog.list(caller.workspaceId, filter, {
        beforeId,
        limit,
      });
      return {
        status: 200,
        body: {
          data: rows.map(publicAuditEntry),
          next_cursor: nextBeforeId === null ? null : encodeCursor(LIST, [nextBeforeId]),
        },
      };
    },
  );
}

function actorOf({ actor }: { actor?: unknown }): Pick<AuditFilter, 'actorType' | 'actorId'> {
  if (typeof actor !== 'string') return {};
  if (actor === 'cli') return { actorType: 'cli' };
  const actorId = decodeId('usr', actor) ?? decodeId('key', actor) ?? decodeId('opk', actor);
  if (actorId !== undefined) return { actorId };
  const detail =
    'An actor is the id of a user (usr_…), an API key (key_…) or an operator key (opk_…), or cli.';
  throw invalidFields([{ parameter: 'actor', code: 'invalid_id', detail }]);
}
