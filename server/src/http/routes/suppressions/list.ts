import { Type } from 'typebox';
import { publicSuppression } from '../../../suppressions/suppression-entry.ts';
import type { SuppressionReason } from '../../../suppressions/suppression-store.ts';
import {
  isSortedByKey,
  type SuppressionQuery,
  type Suppressions,
  scansSuppressions,
} from '../../../suppressions/suppressions.ts';
import { closed, LIMIT_DEFAULT, PAGE, page } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import type { LargeResponseLimiter } from '../../server/large-response-limiter.ts';
import { keyedCursor, toPage } from '../../validation/cursor.ts';
import { parseTimeParameter } from '../../validation/query-parameters.ts';
import { SuppressionReason as Reason, Suppression } from './schemas.ts';

export function listSuppressions(deps: {
  suppressions: Suppressions;
  filteredLists: LargeResponseLimiter;
}): Operation {
  return operation(
    {
      id: 'listSuppressions',
      method: 'GET',
      path: '/suppressions',
      tag: 'Suppressions',
      summary: 'List suppressions',
      description: 'Newest first; with `q` sorted by address. Expired suppressions are not listed.',
      scope: 'read:suppressions',
      query: closed({
        ...PAGE,
        email: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 320,
            description:
              'Everything that suppresses this address: its own entry or that of its domain.',
          }),
        ),
        q: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 320,
            description: 'The beginning of an address or a domain.',
          }),
        ),
        reason: Type.Optional(Reason),
        stream: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 64,
            description:
              'Everything that suppresses mail of this stream: its own suppressions, and those that ' +
              'apply to all mail.',
          }),
        ),
        created_after: Type.Optional(Type.String({ format: 'date-time' })),
        created_before: Type.Optional(Type.String({ format: 'date-time' })),
      }),
      queryParsers: [
        (query, invalid) => invalid.has('q') || invalid.has('email') || parseCursor(query),
      ],
      responses: {
        200: {
          description: 'A page of suppressions.',
          body: page(Suppression, 'SuppressionPage'),
        },
      },
      problems: ['quota_exceeded'],
    },
    async ({ caller, query, signal }) => {
      const limit = query.limit ?? LIMIT_DEFAULT;
      const wanted = queryOf(query);
      if (scansSuppressions(wanted)) await deps.filteredLists.acquire(caller.workspaceId, signal);
      const after = parseCursor(query);
      const found = await deps.suppressions.list(caller, wanted, {
        after,
        limit: limit + 1,
      });
      const { rows, next_cursor } = toPage(listOf(query), found, limit, ({ id, key }) => [id, key]);
      return { status: 200, body: { data: rows.map(publicSuppression), next_cursor } };
    },
  );
}

function parseCursor(query: Record<string, unknown>) {
  return keyedCursor(listOf(query), query);
}

function listOf(query: Record<string, unknown>): string {
  return isSortedByKey(queryOf(query)) ? '/suppressions?q' : '/suppressions';
}

function queryOf(query: Record<string, unknown>): SuppressionQuery {
  return {
    ...(query.email === undefined ? {} : { email: query.email as string }),
    ...(query.q === undefined ? {} : { prefix: query.q as string }),
    ...(query.reason === undefined ? {} : { reason: query.reason as SuppressionReason }),
    ...(query.stream === undefined ? {} : { stream: query.stream as string }),
    ...parseTimeParameter('createdAfterMs', 'created_after', query),
    ...parseTimeParameter('createdBeforeMs', 'created_before', query),
  };
}
