import { Type } from 'typebox';
import { closed } from '../../http/openapi/shared-schemas.ts';
import { type Operation, operation } from '../../http/operation.ts';
import { invalidFields } from '../../lib/refused-error.ts';
import {
  postmarkInboundAttachment,
  postmarkInboundMessage,
  postmarkInboundText,
} from '../../webhooks/formats/postmark-inbound.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import { PERIOD, pageOf, periodOf } from './list-filter.ts';

/** https://postmarkapp.com/developer/api/messages-api#inbound-message-search */

const SearchQuery = closed({
  ...PERIOD,
  recipient: Type.Optional(Type.String()),
  fromemail: Type.Optional(Type.String()),
  fromEmail: Type.Optional(Type.String()),
  subject: Type.Optional(Type.String()),
  status: Type.Optional(Type.String({ description: 'Every message is `processed`.' })),
  mailboxhash: Type.Optional(Type.String({ description: 'Refused: filter by the recipient.' })),
  mailboxHash: Type.Optional(Type.String({ description: 'Refused: filter by the recipient.' })),
  tag: Type.Optional(Type.String({ description: 'Refused: inbound messages have no tags.' })),
});

export function inboundMessageOperations({ call }: CompatDependencies): Operation[] {
  return [
    operation(
      {
        id: 'postmarkSearchInboundMessages',
        method: 'GET',
        path: '/messages/inbound',
        tag: 'Inbound messages',
        summary: 'Search inbound messages',
        description: 'The newest messages; `offset` must be 0, because lists here page by cursor.',
        scope: 'read:inbound_messages',
        query: SearchQuery,
        responses: { 200: { description: 'The messages.', body: Type.Object({}) } },
      },
      async (request) => {
        const { query } = request;
        for (const parameter of ['mailboxhash', 'mailboxHash', 'tag'] as const) {
          if (query[parameter] === undefined) continue;
          const detail = 'This filter is not supported. Use `recipient` or `subject`.';
          throw invalidFields([{ parameter, code: 'unsupported', detail }]);
        }
        const { limit, after, before } = { ...pageOf(query), ...periodOf(query) };
        const from = query.fromemail ?? query.fromEmail;
        // Nothing else is ever stored.
        const isOther = query.status !== undefined && query.status.toLowerCase() !== 'processed';
        const { body } = isOther
          ? { body: { data: [] } }
          : await call(request, 'listInboundMessages', {
              query: {
                limit,
                ...(after === undefined ? {} : { received_after: after }),
                ...(before === undefined ? {} : { received_before: before }),
                ...(query.recipient === undefined ? {} : { to: query.recipient }),
                ...(from === undefined ? {} : { from }),
                ...(query.subject === undefined ? {} : { q: query.subject }),
              },
            });
        const messages = (body.data as InboundMessage[]).map(toMessage);
        return {
          status: 200,
          body: { TotalCount: messages.length, InboundMessages: messages },
        };
      },
    ),
    operation(
      {
        id: 'postmarkGetInboundMessage',
        method: 'GET',
        path: '/messages/inbound/{id}/details',
        tag: 'Inbound messages',
        summary: 'Retrieve an inbound message',
        scope: 'read:inbound_messages',
        params: Type.Object({ id: Type.String() }),
        responses: { 200: { description: 'The message.', body: Type.Object({}) } },
      },
      async (request) => {
        const { params } = request;
        const { body: message } = await call(request, 'getInboundMessage', { params });
        return {
          status: 200,
          body: { ...toMessage(message), ...postmarkInboundText(message), BlockedReason: '' },
        };
      },
    ),
  ];
}

type InboundMessage = Parameters<typeof postmarkInboundMessage>[0];

function toMessage(message: InboundMessage) {
  return {
    ...postmarkInboundMessage(message),
    Attachments: message.attachments.map(postmarkInboundAttachment),
    Status: 'Processed',
  };
}
