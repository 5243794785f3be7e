import { Type } from 'typebox';
import {
  listInboundMessages as findPage,
  type InboundQuery,
} from '../../../inbound/list-inbound-messages.ts';
import { publicInboundMessage } from '../../../inbound/public-inbound-message.ts';
import { decodeId } from '../../../lib/ids.ts';
import { invalidFields } from '../../../lib/refused-error.ts';
import { type ListSources, listReads } from '../../list-reads.ts';
import { closed, LIMIT_DEFAULT, PAGE, page, searchQuery } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import type { LargeResponseLimiter } from '../../server/large-response-limiter.ts';
import { encodeCursor, uuidCursor } from '../../validation/cursor.ts';
import {
  parseAddressParameter,
  parseDomainParameter,
  parseTimeParameter,
} from '../../validation/query-parameters.ts';
import type { QueryParser } from '../../validation/schema-validator.ts';
import { InboundMessageSummary } from './schemas.ts';

export const LIST = '/inbound-messages';

/** Parameters that select inbound messages. */
export const FILTERS = {
  from: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 320,
      description: 'The sender’s address, in the envelope or in `From`.',
      examples: ['jane@example.com'],
    }),
  ),
  to: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 320,
      description:
        'A recipient of the envelope: an address such as `support@reply.yourdomain.com`, or all ' +
        'addresses at a domain as `@reply.yourdomain.com`.',
      examples: ['support@reply.yourdomain.com'],
    }),
  ),
  domain: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'The receiving domain.',
      examples: ['reply.yourdomain.com'],
    }),
  ),
  in_reply_to_message_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description: 'The message that was answered: only replies to it.',
      examples: ['msg_01kc8x3f7ye6qvj2m4n5p6q7r8'],
    }),
  ),
  received_after: Type.Optional(Type.String({ format: 'date-time' })),
  received_before: Type.Optional(Type.String({ format: 'date-time' })),
  q: searchQuery('Search text for the subject or the sender.'),
};

export const FILTER_PARSERS: readonly QueryParser[] = [
  (query) => parseAddressParameter('senderKey', 'from', query),
  (query) => recipientOf(query),
  (query) => parseDomainParameter('domain', 'domain', query),
  (query) => answeredOf(query),
];

export function listInboundMessages(
  deps: ListSources & {
    /** A filter may examine thousands of messages, so a workspace runs one such list at a time. */
    filteredLists: LargeResponseLimiter;
  },
): Operation {
  return operation(
    {
      id: 'listInboundMessages',
      method: 'GET',
      path: '/inbound-messages',
      tag: 'Inbound messages',
      summary: 'List inbound messages',
      description:
        'Newest first, without their content. Filters can be combined. A request examines a ' +
        'limited number of messages: with a filter that matches few, a page may be short or ' +
        'empty and still have a `next_cursor`.',
      scope: 'read:inbound_messages',
      query: closed({ ...PAGE, ...FILTERS }),
      queryParsers: [(query) => uuidCursor(LIST, query), ...FILTER_PARSERS],
      responses: {
        200: {
          description: 'A page of inbound messages.',
          body: page(InboundMessageSummary, 'InboundMessagePage'),
        },
      },
      problems: ['quota_exceeded'],
    },
    async ({ caller, query, signal }) => {
      const limit = query.limit ?? LIMIT_DEFAULT;
      const beforeId = uuidCursor(LIST, query);
      const filter = queryOf(query);
      const isFiltered = Object.keys(filter).length > 0;
      if (isFiltered) await deps.filteredLists.acquire(caller.workspaceId, signal);
      const found = await listReads(deps, caller).run((pool) =>
        findPage(pool, caller, filter, { beforeId, limit }),
      );
      return {
        status: 200,
        body: {
          data: found.messages.map(publicInboundMessage),
          next_cursor:
            found.nextBeforeId === null ? null : encodeCursor(LIST, [found.nextBeforeId]),
        },
      };
    },
  );
}

export function queryOf(query: Record<string, unknown>): InboundQuery {
  return {
    ...parseAddressParameter('senderKey', 'from', query),
    ...recipientOf(query),
    ...parseDomainParameter('domain', 'domain', query),
    ...answeredOf(query),
    ...parseTimeParameter('receivedAfterMs', 'received_after', query),
    ...parseTimeParameter('receivedBeforeMs', 'received_before', query),
    ...(query.q === undefined ? {} : { text: String(query.q) }),
  };
}

function recipientOf(
  query: Record<string, unknown>,
): Pick<InboundQuery, 'recipientKey' | 'recipientDomain'> {
  const { to } = query;
  if (typeof to !== 'string' || !to.startsWith('@')) {
    return parseAddressParameter('recipientKey', 'to', query);
  }
  return parseDomainParameter('recipientDomain', 'to', { to: to.slice(1) });
}

function answeredOf({
  in_reply_to_message_id: text,
}: Record<string, unknown>): Pick<InboundQuery, 'inReplyToMessageId'> {
  if (text === undefined) return {};
  const inReplyToMessageId = decodeId('msg', String(text));
  if (inReplyToMessageId !== undefined) return { inReplyToMessageId };
  const detail = 'Must be the id of a message, such as msg_01kc8x3f7ye6qvj2m4n5p6q7r8.';
  const parameter = 'in_reply_to_message_id';
  throw invalidFields([{ parameter, code: 'invalid_format', detail }]);
}
