import { Type } from 'typebox';
import { BOUNCE_REASONS } from '../../../events/event-types.ts';
import { decodeId } from '../../../lib/ids.ts';
import { invalidFields } from '../../../lib/refused-error.ts';
import { isMailboxProvider } from '../../../mail/policy/mailbox-provider.ts';
import { TAG_LENGTH_MAX } from '../../../messages/accept/send-limits.ts';
import {
  listMessages as findPage,
  isUnfiltered,
  type MessageQuery,
} from '../../../messages/lookup/list-messages.ts';
import { publicMessage } from '../../../messages/lookup/public-message.ts';
import type { MessageStatus } from '../../../messages/message-status.ts';
import { SYSTEM_TAG } from '../../../messages/system-tag.ts';
import { FAILURE_REASONS } from '../../../messages/verdict/bounce-explanations.ts';
import { SUPPRESSION_REASONS } from '../../../suppressions/suppression-store.ts';
import { type ListSources, listReads } from '../../list-reads.ts';
import { closed, LIMIT_DEFAULT, oneOf, PAGE, page } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import type { LargeResponseLimiter } from '../../server/large-response-limiter.ts';
import { encodeCursor, uuidCursor } from '../../validation/cursor.ts';
import {
  checkAllowedValue,
  parseAddressParameter,
  parseDomainParameter,
  parseTimeParameter,
} from '../../validation/query-parameters.ts';
import { StreamFilter } from '../streams/schemas.ts';
import { MESSAGE_STATUSES, MessageSummary } from './schemas.ts';

const LIST = '/messages';

const REASONS = [...BOUNCE_REASONS, ...SUPPRESSION_REASONS, ...FAILURE_REASONS];

const MessageListQuery = closed(
  {
    ...PAGE,
    status: Type.Optional(oneOf(MESSAGE_STATUSES)),
    recipient: Type.Optional(
      Type.String({ minLength: 1, maxLength: 320, description: 'A recipient’s address.' }),
    ),
    domain: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        description: 'The domain of the sender’s address.',
      }),
    ),
    receiver: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        description:
          'The mailbox provider of a recipient, as named by `GET /stats?group_by=receiver` ' +
          '(`google`, `microsoft`, …, `other`), or the domain of a recipient’s address.',
      }),
    ),
    header_message_id: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 460,
        description: 'The `Message-ID` header of the mail, with or without angle brackets.',
      }),
    ),
    stream: StreamFilter,
    tag: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: TAG_LENGTH_MAX,
        description: `A tag of the message. Invitations and password resets that Postrider sends for your team are listed with \`${SYSTEM_TAG}\` only.`,
      }),
    ),
    template_key: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
    reason: Type.Optional(
      Type.String({
        pattern: '^[a-z_]{1,64}$',
        description:
          'The reason of a recipient’s bounce or deferral (`unknown_mailbox`), suppression ' +
          `(\`hard_bounce\`) or failure: one of ${REASONS.map((one) => `\`${one}\``).join(', ')}.`,
      }),
    ),
    complained: Type.Optional(
      Type.Boolean({
        description:
          '`true`: only messages that a recipient marked as spam. `false`: no such messages.',
      }),
    ),
    api_key_id: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: 'The API key that sent the message, also over SMTP.',
      }),
    ),
    created_after: Type.Optional(Type.String({ format: 'date-time' })),
    created_before: Type.Optional(Type.String({ format: 'date-time' })),
    q: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: 'Search text for the subject or an address.',
      }),
    ),
  },
  { patternProperties: { '^metadata\\[.{1,64}\\]$': { type: 'string' } } },
);

export function listMessages(
  deps: ListSources & {
    /** A filter may examine thousands of messages, so a workspace runs one such list at a time. */
    filteredLists: LargeResponseLimiter;
  },
): Operation {
  return operation(
    {
      id: 'listMessages',
      method: 'GET',
      path: '/messages',
      tag: 'Messages',
      summary: 'List messages',
      description:
        'Newest first. Filters can be combined; `metadata[key]=value` can be given several ' +
        'times. A request examines a limited number of messages: with a filter that matches ' +
        'few, a page may be short or empty and still have a `next_cursor`.',
      scope: 'read:messages',
      query: MessageListQuery,
      queryParsers: [
        (query) => uuidCursor(LIST, query),
        (query) => parseAddressParameter('recipientKey', 'recipient', query),
        (query) => parseDomainParameter('senderDomain', 'domain', query),
        (query) => receiverOf(query),
        (query) => apiKeyOf(query),
        (query) => checkAllowedValue('reason', REASONS, query),
      ],
      responses: {
        200: { description: 'A page of messages.', body: page(MessageSummary, 'MessagePage') },
      },
      problems: ['quota_exceeded'],
    },
    async ({ caller, query, signal }) => {
      const limit = query.limit ?? LIMIT_DEFAULT;
      const beforeId = uuidCursor(LIST, query);
      const filter = queryOf(query);
      if (!isUnfiltered(filter)) await deps.filteredLists.acquire(caller.workspaceId, signal);
      const found = await listReads(deps, caller).run((pool) =>
        findPage(pool, caller, filter, { beforeId, limit }),
      );
      return {
        status: 200,
        body: {
          data: found.messages.map(publicMessage),
          next_cursor:
            found.nextBeforeId === null ? null : encodeCursor(LIST, [found.nextBeforeId]),
        },
      };
    },
  );
}

function queryOf(query: Record<string, unknown>): MessageQuery {
  const metadata = Object.entries(query)
    .filter(([name]) => name.startsWith('metadata['))
    .map(([name, value]) => [name.slice('metadata['.length, -1), String(value)]);
  return {
    ...(query.status === undefined ? {} : { status: query.status as MessageStatus }),
    ...parseAddressParameter('recipientKey', 'recipient', query),
    ...parseDomainParameter('senderDomain', 'domain', query),
    ...receiverOf(query),
    ...(query.header_message_id === undefined
      ? {}
      : { headerMessageId: String(query.header_message_id).replace(/^<(.*)>$/, '$1') }),
    ...(query.stream === undefined ? {} : { stream: query.stream as string }),
    ...(query.tag === undefined ? {} : { tag: query.tag as string }),
    ...(query.template_key === undefined ? {} : { templateKey: query.template_key as string }),
    ...(query.reason === undefined ? {} : { reason: query.reason as string }),
    ...(query.complained === undefined ? {} : { complained: query.complained as boolean }),
    ...apiKeyOf(query),
    ...(query.q === undefined ? {} : { text: query.q as string }),
    ...(metadata.length === 0 ? {} : { metadata: Object.fromEntries(metadata) }),
    ...parseTimeParameter('createdAfterMs', 'created_after', query),
    ...parseTimeParameter('createdBeforeMs', 'created_before', query),
  };
}

function apiKeyOf({ api_key_id: text }: Record<string, unknown>): Pick<MessageQuery, 'apiKeyId'> {
  if (text === undefined) return {};
  const apiKeyId = decodeId('key', String(text));
  if (apiKeyId !== undefined) return { apiKeyId };
  const detail = 'Must be the id of an API key, such as key_01kc8x3f7ye6qvj2m4n5p6q7r8.';
  throw invalidFields([{ parameter: 'api_key_id', code: 'invalid_format', detail }]);
}

function receiverOf(
  query: Record<string, unknown>,
): Pick<MessageQuery, 'provider' | 'recipientDomain'> {
  const { receiver } = query;
  if (receiver !== undefined && isMailboxProvider(String(receiver))) {
    return { provider: String(receiver) };
  }
  return parseDomainParameter('recipientDomain', 'receiver', query);
}
