import { Type } from 'typebox';
import { type Operation, operation } from '../../http/operation.ts';
import type { AnyRequest } from '../../http/server/call-operation.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import { bounceTimeMs } from '../../webhooks/formats/postmark-bounce-id.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import { type ApiEvent, type PostmarkRecord, toPostmarkRecord } from './event-records.ts';
import { listQuery, toListQuery } from './list-filter.ts';

/**
 * https://postmarkapp.com/developer/api/bounce-api. A bounce is one of three events, the same as in
 * webhooks, and has the same id there.
 */

const BounceId = Type.Object({ id: Type.String() });

const BOUNCE_EVENTS = 'message.bounced,message.expired,message.complained';

export function bounceOperations({ call }: CompatDependencies): Operation[] {
  return [
    operation(
      {
        id: 'postmarkListBounces',
        method: 'GET',
        path: '/bounces',
        tag: 'Messages',
        summary: 'List bounces',
        description: 'Bounces and complaints, newest first; `offset` must be 0.',
        scope: 'read:events',
        query: listQuery({
          type: Type.Optional(Type.String({ description: 'Only bounces of this type.' })),
          inactive: Type.Optional(Type.Boolean()),
          emailFilter: Type.Optional(Type.String({ description: 'An address.' })),
          messageID: Type.Optional(Type.String()),
        }),
        responses: { 200: { description: 'The bounces.', body: Type.Object({}) } },
      },
      async (request) => {
        const { type, inactive, emailFilter, messageID } = request.query;
        const query = {
          ...toListQuery(request.query),
          type: BOUNCE_EVENTS,
          order: 'desc',
          ...(emailFilter === undefined ? {} : { recipient: emailFilter }),
          ...(messageID === undefined ? {} : { message_id: messageID }),
        };
        const { body } = await call(request, 'listEvents', { query });
        const bounces = (body.data as ApiEvent[])
          .map(toBounce)
          .filter((bounce) => type === undefined || bounce.Type === type)
          .filter((bounce) => inactive === undefined || bounce.Inactive === inactive);
        return { status: 200, body: { TotalCount: bounces.length, Bounces: bounces } };
      },
    ),
    operation(
      {
        id: 'postmarkGetBounce',
        method: 'GET',
        path: '/bounces/{id}',
        tag: 'Messages',
        summary: 'Retrieve a bounce',
        scope: 'read:events',
        params: BounceId,
        responses: { 200: { description: 'The bounce.', body: Type.Object({}) } },
      },
      async (request) => {
        const event = await findBounce(call, request, request.params.id);
        const params = { id: event.data.message_id };
        const { body: message } = await call(request, 'getMessage', { params });
        const { from, subject } = message;
        return {
          status: 200,
          body: { ...toBounce(event), From: from.email, Subject: subject },
        };
      },
    ),
    operation(
      {
        id: 'postmarkGetBounceDump',
        method: 'GET',
        path: '/bounces/{id}/dump',
        tag: 'Messages',
        summary: 'Retrieve the text of a bounce',
        description: 'The text of the reply or the report; the email itself is not stored.',
        scope: 'read:events',
        params: BounceId,
        responses: {
          200: { description: 'The text.', body: Type.Object({ Body: Type.String() }) },
        },
      },
      async (request) => {
        const event = await findBounce(call, request, request.params.id);
        return { status: 200, body: { Body: toBounce(event).Details } };
      },
    ),
    operation(
      {
        id: 'postmarkActivateBounce',
        method: 'PUT',
        path: '/bounces/{id}/activate',
        tag: 'Messages',
        summary: 'Activate a bounced address',
        description: 'Deletes what suppresses mail of the same stream to the address.',
        scope: 'write:suppressions',
        params: BounceId,
        responses: { 200: { description: 'Activated.', body: Type.Object({}) } },
      },
      async (request) => {
        const event = await findBounce(call, request, request.params.id);
        const { recipient: email, stream } = event.data;
        const query = { email, stream };
        try {
          await call(request, 'deleteSuppressionByEmail', { query });
        } catch (error) {
          // An address without a suppression is active already.
          if (!(error instanceof RefusedError) || error.code !== 'not_found') throw error;
        }
        return {
          status: 200,
          body: { Message: 'OK', Bounce: { ...toBounce(event), Inactive: false } },
        };
      },
    ),
  ];
}

/** Only a flood of bounces in one millisecond has more. */
const PAGES_MAX = 10;

/** Events have no look-up by id; the id contains the time, which narrows the list to a few. */
async function findBounce(
  call: CompatDependencies['call'],
  request: AnyRequest,
  id: string,
): Promise<ApiEvent> {
  const number = /^[0-9]{1,16}$/.test(id) ? Number(id) : 0;
  const createdMs = bounceTimeMs(number);
  let query: Record<string, string> = {
    type: BOUNCE_EVENTS,
    limit: '100',
    created_after: new Date(createdMs).toISOString(),
    created_before: new Date(createdMs + 1).toISOString(),
  };
  for (let page = 0; page < PAGES_MAX; page++) {
    const { body } = await call(request, 'listEvents', { query });
    const found = (body.data as ApiEvent[]).find((event) => toBounce(event).ID === number);
    if (found) return found;
    if (!body.has_more) break;
    query = { ...query, cursor: body.next_cursor };
  }
  throw new RefusedError('not_found', 'There is no bounce with this id.');
}

/** In the API, complaints are bounces too. */
function toBounce(event: ApiEvent): PostmarkRecord {
  return { ...toPostmarkRecord(event), RecordType: 'Bounce' };
}
