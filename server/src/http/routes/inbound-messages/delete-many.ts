import { Type } from 'typebox';
import type { InboundMessages } from '../../../inbound/inbound-messages.ts';
import { invalidFields } from '../../../lib/refused-error.ts';
import { closed, PAGE } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import type { LargeResponseLimiter } from '../../server/large-response-limiter.ts';
import { encodeCursor, uuidCursor } from '../../validation/cursor.ts';
import { FILTER_PARSERS, FILTERS, LIST, queryOf } from './list.ts';

export function deleteInboundMessages(deps: {
  inboundMessages: InboundMessages;
  /** A filter may examine thousands of messages, so a workspace runs one such operation at a time. */
  filteredLists: LargeResponseLimiter;
}): Operation {
  return operation(
    {
      id: 'deleteInboundMessages',
      method: 'DELETE',
      path: '/inbound-messages',
      tag: 'Inbound messages',
      summary: 'Delete inbound messages',
      description:
        'Deletes the messages that match all filters, newest first, with their content, ' +
        'permanently. At least one filter is required. A request deletes a limited number of ' +
        'messages: repeat it with `cursor` until `next_cursor` is null. Their events remain in ' +
        'the event log, with the addresses and the subject, until they expire.',
      scope: 'write:inbound_messages',
      query: closed({ cursor: PAGE.cursor, ...FILTERS }),
      queryParsers: [(query) => uuidCursor(LIST, query), ...FILTER_PARSERS],
      responses: {
        200: {
          description: 'These messages were deleted.',
          body: Type.Object(
            {
              deleted: Type.Integer({ description: 'How many messages this request deleted.' }),
              next_cursor: Type.Union([Type.String(), Type.Null()], {
                description: 'Pass it as `cursor` to continue; null when all have been deleted.',
              }),
            },
            {
              title: 'DeletedInboundMessages',
              examples: [{ deleted: 42, next_cursor: null }],
            },
          ),
        },
      },
      problems: ['quota_exceeded'],
    },
    async ({ caller, query, signal }) => {
      requireFilter(query);
      await deps.filteredLists.acquire(caller.workspaceId, signal);
      const { deleted, nextBeforeId } = await deps.inboundMessages.deleteMatching(
        caller,
        queryOf(query),
        uuidCursor(LIST, query),
      );
      const next_cursor = nextBeforeId === null ? null : encodeCursor(LIST, [nextBeforeId]);
      return { status: 200, body: { deleted, next_cursor } };
    },
  );
}

/** A forgotten filter must not delete everything. */
function requireFilter(query: Record<string, unknown>): void {
  const names = Object.keys(FILTERS);
  if (names.some((name) => query[name] !== undefined)) return;
  const detail = `At least one filter is required: ${names.join(', ')}. To delete all messages, set it to the current time.`;
  throw invalidFields([{ parameter: 'received_before', code: 'required', detail }]);
}
