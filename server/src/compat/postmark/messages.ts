import { Type } from 'typebox';
import { type Operation, operation } from '../../http/operation.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import { formatAddress } from '../../mail/address.ts';
import { toStreamId } from '../../webhooks/formats/postmark-stream-id.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import { listQuery, toListQuery } from './list-filter.ts';

/** https://postmarkapp.com/developer/api/messages-api and /server-api */

const MessageId = Type.Object({ id: Type.String() });

export function messageOperations({ call }: CompatDependencies): Operation[] {
  return [
    operation(
      {
        id: 'postmarkSearchMessages',
        method: 'GET',
        path: '/messages/outbound',
        tag: 'Messages',
        summary: 'Search outbound messages',
        description: 'The newest messages; `offset` must be 0, because lists here page by cursor.',
        scope: 'read:messages',
        query: listQuery({
          recipient: Type.Optional(Type.String()),
          subject: Type.Optional(Type.String()),
        }),
        responses: { 200: { description: 'The messages.', body: Type.Object({}) } },
      },
      async (request) => {
        const { recipient, subject } = request.query;
        const query = {
          ...toListQuery(request.query),
          ...(recipient === undefined ? {} : { recipient }),
          ...(subject === undefined ? {} : { q: subject }),
        };
        const { body } = await call(request, 'listMessages', { query });
        const messages = (body.data as Message[]).map(toMessage);
        return { status: 200, body: { TotalCount: messages.length, Messages: messages } };
      },
    ),
    operation(
      {
        id: 'postmarkGetMessage',
        method: 'GET',
        path: '/messages/outbound/{id}/details',
        tag: 'Messages',
        summary: 'Retrieve an outbound message',
        scope: 'read:messages',
        params: MessageId,
        responses: { 200: { description: 'The message.', body: Type.Object({}) } },
      },
      async (request) => {
        const { params } = request;
        const { body: message } = await call(request, 'getMessage', { params });
        const content = await optional(() => call(request, 'getMessageContent', { params }));
        const raw = await optional(() => call(request, 'getMessageRaw', { params }));
        return {
          status: 200,
          body: {
            ...toMessage(message),
            HtmlBody: content?.body.html ?? '',
            TextBody: content?.body.text ?? '',
            Body: raw ? String(raw.body) : '',
            MessageEvents: (message.recipients as Recipient[]).flatMap(toEvents),
          },
        };
      },
    ),
    operation(
      {
        id: 'postmarkGetMessageDump',
        method: 'GET',
        path: '/messages/outbound/{id}/dump',
        tag: 'Messages',
        summary: 'Retrieve the source of an outbound message',
        scope: 'read:messages',
        params: MessageId,
        responses: {
          200: { description: 'The source.', body: Type.Object({ Body: Type.String() }) },
        },
      },
      async (request) => {
        const { body } = await call(request, 'getMessageRaw', { params: request.params });
        return { status: 200, body: { Body: String(body) } };
      },
    ),
    operation(
      {
        id: 'postmarkGetServer',
        method: 'GET',
        path: '/server',
        tag: 'Service',
        summary: 'Retrieve the server',
        scope: 'any',
        responses: { 200: { description: 'The workspace of the key.', body: Type.Object({}) } },
      },
      async (request) => {
        const { body: key } = await call(request, 'getCurrentApiKey');
        return {
          status: 200,
          body: {
            Name: key.workspace.name,
            DeliveryType: key.mode === 'live' ? 'Live' : 'Sandbox',
            SmtpApiActivated: true,
          },
        };
      },
    ),
  ];
}

/** The result, or undefined for content that was deleted. */
async function optional<T>(find: () => Promise<T>): Promise<T | undefined> {
  try {
    return await find();
  } catch (error) {
    if (error instanceof RefusedError && error.code === 'not_found') return undefined;
    throw error;
  }
}

interface Recipient {
  kind: string;
  email: string;
  name: string | null;
  status: string;
  finished_at: string | null;
  bounce: { class: string; explanation: string } | null;
}

interface Message {
  id: string;
  mode: string;
  status: string;
  created_at: string;
  from: { email: string; name: string | null };
  subject: string;
  stream: string;
  tags: string[];
  metadata: Record<string, string>;
  recipients: Recipient[];
}

const QUEUED = new Set(['scheduled', 'queued', 'deferred']);

function toMessage(message: Message): object {
  const of = (kind: string) =>
    message.recipients
      .filter((recipient) => recipient.kind === kind)
      .map(({ email, name }) => ({ Email: email, Name: name ?? '' }));
  return {
    MessageID: message.id,
    Tag: message.tags[0] ?? '',
    To: of('to'),
    Cc: of('cc'),
    Bcc: of('bcc'),
    Recipients: message.recipients.map(({ email }) => email),
    ReceivedAt: message.created_at,
    From: formatAddress(message.from),
    Subject: message.subject,
    Attachments: [],
    Status: QUEUED.has(message.status) ? 'Queued' : 'Sent',
    Metadata: message.metadata,
    MessageStream: toStreamId(message.stream),
    Sandboxed: message.mode === 'test',
  };
}

function toEvents({ email, status, finished_at: at, bounce }: Recipient): object[] {
  if (at === null) return [];
  if (status === 'delivered') {
    return [{ Recipient: email, Type: 'Delivered', ReceivedAt: at, Details: {} }];
  }
  const Summary = bounce?.explanation ?? status;
  return [{ Recipient: email, Type: 'Bounced', ReceivedAt: at, Details: { Summary } }];
}
