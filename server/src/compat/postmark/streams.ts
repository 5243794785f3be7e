import { type Static, Type } from 'typebox';
import { closed } from '../../http/openapi/shared-schemas.ts';
import { type Operation, operation } from '../../http/operation.ts';
import { invalidFields } from '../../lib/refused-error.ts';
import { toStreamId, toStreamKey } from '../../webhooks/formats/postmark-stream-id.ts';
import type { CompatDependencies } from '../compat-provider.ts';

/** https://postmarkapp.com/developer/api/message-streams-api */

const TYPES = { transactional: 'Transactional', subscription: 'Broadcasts' } as const;

const StreamPath = Type.Object({ stream: Type.String() });

const FIELDS = {
  Name: Type.Optional(Type.String()),
  Description: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  SubscriptionManagementConfiguration: Type.Optional(
    closed({ UnsubscribeHandlingType: Type.String() }),
  ),
};

const Change = closed(FIELDS);

const MessageStream = Type.Object(
  { ID: Type.String(), Name: Type.String(), MessageStreamType: Type.String() },
  { title: 'PostmarkMessageStream' },
);

const ONE = { 200: { description: 'The stream.', body: MessageStream } };

export function streamOperations({ call }: CompatDependencies): Operation[] {
  return [
    operation(
      {
        id: 'postmarkListStreams',
        method: 'GET',
        path: '/message-streams',
        tag: 'Streams',
        summary: 'List message streams',
        scope: 'read:streams',
        query: closed({
          messageStreamType: Type.Optional(Type.String()),
          includeArchivedStreams: Type.Optional(Type.Boolean()),
        }),
        responses: { 200: { description: 'The streams.', body: Type.Object({}) } },
      },
      async (request) => {
        const { messageStreamType: type = 'All' } = request.query;
        const { body } = await call(request, 'listStreams', { query: { limit: '100' } });
        const streams = (body.data as Stream[])
          .map(toMessageStream)
          .filter(({ MessageStreamType }) => type === 'All' || type === MessageStreamType);
        return { status: 200, body: { TotalCount: streams.length, MessageStreams: streams } };
      },
    ),
    operation(
      {
        id: 'postmarkGetStream',
        method: 'GET',
        path: '/message-streams/{stream}',
        tag: 'Streams',
        summary: 'Retrieve a message stream',
        scope: 'read:streams',
        params: StreamPath,
        responses: ONE,
      },
      async (request) => {
        const params = { key: toStreamKey(request.params.stream) };
        const { body } = await call(request, 'getStream', { params });
        return { status: 200, body: toMessageStream(body as Stream) };
      },
    ),
    operation(
      {
        id: 'postmarkCreateStream',
        method: 'POST',
        path: '/message-streams',
        tag: 'Streams',
        summary: 'Create a message stream',
        scope: 'write:streams',
        body: closed({
          ID: Type.String(),
          ...FIELDS,
          Name: Type.String(),
          MessageStreamType: Type.Union(
            Object.values(TYPES).map((type) => Type.Literal(type)),
            { description: 'A stream of type `Broadcasts` has the purpose `subscription`.' },
          ),
        }),
        responses: ONE,
      },
      async (request) => {
        const { ID, Name: name, MessageStreamType: type } = request.body;
        const purpose = type === TYPES.subscription ? 'subscription' : 'transactional';
        checkChange(request.body, purpose);
        const body = { key: toStreamKey(ID), name, purpose };
        const { body: stream } = await call(request, 'createStream', { body });
        return { status: 200, body: toMessageStream(stream as Stream) };
      },
    ),
    operation(
      {
        id: 'postmarkUpdateStream',
        method: 'PATCH',
        path: '/message-streams/{stream}',
        tag: 'Streams',
        summary: 'Update a message stream',
        scope: 'write:streams',
        mode: 'live',
        params: StreamPath,
        body: Change,
        responses: ONE,
      },
      async (request) => {
        const params = { key: toStreamKey(request.params.stream) };
        const { Name: name } = request.body;
        const { body: before } = await call(request, 'getStream', { params });
        checkChange(request.body, (before as Stream).purpose);
        const { body } =
          name === undefined
            ? { body: before }
            : await call(request, 'updateStream', { params, body: { name } });
        return { status: 200, body: toMessageStream(body as Stream) };
      },
    ),
  ];
}

interface Stream {
  key: string;
  name: string;
  purpose: keyof typeof TYPES;
  created_at: string | null;
  updated_at: string | null;
}

function toMessageStream({ key, name, purpose, created_at, updated_at }: Stream) {
  return {
    ID: toStreamId(key),
    ServerID: 1,
    Name: name,
    Description: null,
    MessageStreamType: TYPES[purpose],
    CreatedAt: created_at,
    UpdatedAt: updated_at,
    ArchivedAt: null,
    ExpectedPurgeDate: null,
    SubscriptionManagementConfiguration: { UnsubscribeHandlingType: handlingOf(purpose) },
  };
}

/** Streams have no description, and how recipients unsubscribe follows from the purpose. */
function checkChange(given: Static<typeof Change>, purpose: Stream['purpose']): void {
  if (given.Description) {
    const detail = 'Streams have no description here.';
    throw invalidFields([{ pointer: '/Description', code: 'unsupported', detail }]);
  }
  const handling = given.SubscriptionManagementConfiguration?.UnsubscribeHandlingType;
  if (handling === undefined || handling === handlingOf(purpose)) return;
  const pointer = '/SubscriptionManagementConfiguration/UnsubscribeHandlingType';
  const detail = `Must be ${handlingOf(purpose)} for this type of stream.`;
  throw invalidFields([{ pointer, code: 'unsupported', detail }]);
}

/** `Postmark` means that the service handles it. */
function handlingOf(purpose: Stream['purpose']): 'Postmark' | 'None' {
  return purpose === 'subscription' ? 'Postmark' : 'None';
}
