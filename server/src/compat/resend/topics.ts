import { type Static, Type } from 'typebox';
import { closed } from '../../http/openapi/shared-schemas.ts';
import { type Operation, operation } from '../../http/operation.ts';
import type { AnyRequest } from '../../http/server/call-operation.ts';
import { type FieldError, invalidFields } from '../../lib/refused-error.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import { Deleted, deleted } from './lists.ts';

/**
 * https://resend.com/docs/api-reference/topics. A topic is a subscription stream, and its id the key of
 * the stream. Contacts get mail of a stream until they leave it.
 */

const Subscription = Type.Union([Type.Literal('opt_in'), Type.Literal('opt_out')]);

/** What a contact gets. */
export const Subscriptions = Type.Array(
  closed({
    id: Type.String({ description: 'The key of a subscription stream.' }),
    subscription: Subscription,
  }),
  { maxItems: 100 },
);

export function toSubscriptions(topics: Static<typeof Subscriptions>): object {
  return Object.fromEntries(
    topics.map(({ id, subscription }) => [
      id,
      subscription === 'opt_in' ? 'subscribed' : 'unsubscribed',
    ]),
  );
}

const Topic = Type.Object({ id: Type.String(), name: Type.String() }, { title: 'ResendTopic' });
const Id = Type.Object({ id: Type.String() });
const TopicPath = Type.Object({ id: Type.String({ description: 'The key of a stream.' }) });
const ContactPath = Type.Object({
  id: Type.String({ description: 'The id or the address of the contact.' }),
});
const Description = Type.Optional(Type.Union([Type.String(), Type.Null()]));

export function topicOperations(deps: CompatDependencies): Operation[] {
  return [...topicReads(deps), ...topicChanges(deps), ...contactTopics(deps)];
}

function topicReads({ call }: CompatDependencies): Operation[] {
  return [
    operation(
      {
        id: 'resendListTopics',
        method: 'GET',
        path: '/topics',
        tag: 'Streams',
        summary: 'List topics',
        scope: 'read:streams',
        responses: { 200: { description: 'All topics.', body: listOf(Topic) } },
      },
      async (request) => {
        const streams = await subscriptionStreams(call, request);
        return { status: 200, body: toList(streams.map(toTopic)) };
      },
    ),
    operation(
      {
        id: 'resendGetTopic',
        method: 'GET',
        path: '/topics/{id}',
        tag: 'Streams',
        summary: 'Retrieve a topic',
        scope: 'read:streams',
        params: TopicPath,
        responses: { 200: { description: 'The topic.', body: Topic } },
      },
      async (request) => {
        const params = { key: request.params.id };
        const { body } = await call(request, 'getStream', { params });
        return { status: 200, body: { object: 'topic', ...toTopic(body) } };
      },
    ),
  ];
}

function topicChanges({ call }: CompatDependencies): Operation[] {
  return [
    operation(
      {
        id: 'resendCreateTopic',
        method: 'POST',
        path: '/topics',
        tag: 'Streams',
        summary: 'Create a topic',
        description: 'The id is made of the name: `Product news` becomes `product-news`.',
        scope: 'write:streams',
        body: closed({
          name: Type.String(),
          description: Description,
          default_subscription: Subscription,
        }),
        responses: { 200: { description: 'The topic.', body: Id } },
      },
      async (request) => {
        const { name, description, default_subscription } = request.body;
        checkFields({ description, default_subscription });
        const body = { key: keyOf(name), name, purpose: 'subscription' };
        const { body: stream } = await call(request, 'createStream', { body });
        return { status: 200, body: { object: 'topic', id: stream.key } };
      },
    ),
    operation(
      {
        id: 'resendUpdateTopic',
        method: 'PATCH',
        path: '/topics/{id}',
        tag: 'Streams',
        summary: 'Rename a topic',
        scope: 'write:streams',
        params: TopicPath,
        // The client library repeats the id.
        body: closed({
          id: Type.Optional(Type.String()),
          name: Type.String(),
          description: Description,
        }),
        responses: { 200: { description: 'The topic.', body: Id } },
      },
      async (request) => {
        const { id: key } = request.params;
        const { name, description } = request.body;
        checkFields({ description });
        await call(request, 'updateStream', { params: { key }, body: { name } });
        return { status: 200, body: { object: 'topic', id: key } };
      },
    ),
    operation(
      {
        id: 'resendDeleteTopic',
        method: 'DELETE',
        path: '/topics/{id}',
        tag: 'Streams',
        summary: 'Delete a topic',
        scope: 'write:streams',
        params: TopicPath,
        responses: { 200: { description: 'Deleted.', body: Deleted } },
      },
      async (request) => {
        const { id: key } = request.params;
        await call(request, 'deleteStream', { params: { key } });
        return { status: 200, body: deleted('topic', key) };
      },
    ),
  ];
}

function contactTopics({ call }: CompatDependencies): Operation[] {
  return [
    operation(
      {
        id: 'resendListContactTopics',
        method: 'GET',
        path: '/contacts/{id}/topics',
        tag: 'Streams',
        summary: 'List the topics of a contact',
        description: 'Needs the scope `read:streams` too.',
        scope: 'read:contacts',
        params: ContactPath,
        responses: { 200: { description: 'All topics.', body: listOf(Topic) } },
      },
      async (request) => {
        const params = { email: request.params.id };
        const { body: contact } = await call(request, 'getContact', { params });
        const streams = await subscriptionStreams(call, request);
        const topics = streams.map(({ key, name }) => {
          const left = contact.subscriptions[key]?.status === 'unsubscribed';
          const subscription = left ? 'opt_out' : 'opt_in';
          return { id: key, name, description: null, subscription };
        });
        return { status: 200, body: toList(topics) };
      },
    ),
    operation(
      {
        id: 'resendUpdateContactTopics',
        method: 'PATCH',
        path: '/contacts/{id}/topics',
        tag: 'Streams',
        summary: 'Change the topics of a contact',
        scope: 'write:contacts',
        params: ContactPath,
        body: Subscriptions,
        responses: { 200: { description: 'The id of the contact.', body: Id } },
      },
      async (request) => {
        const params = { email: request.params.id };
        const body = { subscriptions: toSubscriptions(request.body) };
        const { body: contact } = await call(request, 'updateContact', { params, body });
        return { status: 200, body: { id: contact.id } };
      },
    ),
  ];
}

interface Stream {
  key: string;
  name: string;
  purpose: string;
  created_at: string | null;
}

function toTopic({ key, name, created_at }: Stream): object {
  return { id: key, name, default_subscription: 'opt_in', created_at };
}

async function subscriptionStreams(
  call: CompatDependencies['call'],
  request: AnyRequest,
): Promise<Stream[]> {
  const found: Stream[] = [];
  let cursor: string | null = null;
  do {
    const query: Record<string, string> = { limit: '100', ...(cursor ? { cursor } : {}) };
    const { body } = await call(request, 'listStreams', { query });
    found.push(...body.data);
    cursor = body.next_cursor;
  } while (cursor !== null);
  return found.filter(({ purpose }) => purpose === 'subscription');
}

function checkFields(given: {
  description?: string | null | undefined;
  default_subscription?: string;
}): void {
  const errors: FieldError[] = [];
  if (given.description) {
    const detail = 'Streams have no description here.';
    errors.push({ pointer: '/description', code: 'unsupported', detail });
  }
  if (given.default_subscription === 'opt_out') {
    const detail = 'Contacts get mail of a topic until they leave it, so this must be opt_in.';
    errors.push({ pointer: '/default_subscription', code: 'unsupported', detail });
  }
  if (errors.length > 0) throw invalidFields(errors);
}

function keyOf(name: string): string {
  const key = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, 64);
  if (key !== '') return key;
  const detail = 'Must contain a letter or a digit, because the id is made of the name.';
  throw invalidFields([{ pointer: '/name', code: 'invalid_value', detail }]);
}

function listOf(item: typeof Topic) {
  return Type.Object({
    object: Type.Literal('list'),
    has_more: Type.Boolean(),
    data: Type.Array(item),
  });
}

/** All at once: a workspace has few streams. */
function toList(data: object[]): object {
  return { object: 'list', has_more: false, data };
}
