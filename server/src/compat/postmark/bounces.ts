import { Type } from 'typebox';
import { closed } from '../../http/openapi/shared-schemas.ts';
import { type Operation, operation } from '../../http/operation.ts';
import type { AnyRequest } from '../../http/server/call-operation.ts';
import { decodeId } from '../../lib/ids.ts';
import { invalidFields, RefusedError } from '../../lib/refused-error.ts';
import { formatAddress } from '../../mail/address.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import { checkStream, OUTBOUND } from './stream.ts';

/**
 * https://postmarkapp.com/developer/api/bounce-api. A bounce is a `message.bounced` or
 * `message.complained` event, and its id is the id of the event.
 */

const BounceId = Type.Object({ id: Type.String() });

const BOUNCE_EVENTS = 'message.bounced,message.complained';

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
        query: closed({
          count: Type.Integer({ minimum: 1, maximum: 500 }),
          offset: Type.Integer({ minimum: 0 }),
          type: Type.Optional(
            Type.Union(
              Object.keys(TYPE_CODES).map((type) => Type.Literal(type)),
              { description: 'Only bounces of this type.' },
            ),
          ),
          emailFilter: Type.Optional(Type.String({ description: 'An address.' })),
          messageID: Type.Optional(Type.String()),
          tag: Type.Optional(Type.String()),
          messagestream: Type.Optional(Type.String()),
        }),
        responses: { 200: { description: 'The bounces.', body: Type.Object({}) } },
      },
      async (request) => {
        const { count, offset, type, emailFilter, messageID, tag, messagestream } = request.query;
        checkStream(messagestream, '/messagestream');
        if (offset > 0) {
          const detail = '`offset` is not supported. Narrow the list with a filter instead.';
          throw invalidFields([{ parameter: 'offset', code: 'unsupported', detail }]);
        }
        const query = {
          type: BOUNCE_EVENTS,
          order: 'desc',
          limit: String(Math.min(count, EVENTS_MAX)),
          ...(emailFilter === undefined ? {} : { recipient: emailFilter }),
          ...(messageID === undefined ? {} : { message_id: messageID }),
          ...(tag === undefined ? {} : { tag }),
        };
        const { body } = await call(request, 'listEvents', { query });
        const bounces = (body.data as BounceEvent[])
          .map(toBounce)
          .filter((bounce) => type === undefined || bounce.Type === type);
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
          body: { ...toBounce(event), From: formatAddress(from), Subject: subject },
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
        const { data } = await findBounce(call, request, request.params.id);
        return { status: 200, body: { Body: data.smtp?.text ?? '' } };
      },
    ),
    operation(
      {
        id: 'postmarkActivateBounce',
        method: 'PUT',
        path: '/bounces/{id}/activate',
        tag: 'Messages',
        summary: 'Activate a bounced address',
        description: 'Deletes the suppression of the address.',
        scope: 'write:suppressions',
        params: BounceId,
        responses: { 200: { description: 'Activated.', body: Type.Object({}) } },
      },
      async (request) => {
        const event = await findBounce(call, request, request.params.id);
        const query = { email: event.data.recipient };
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

/** The maximum of our own list. */
const EVENTS_MAX = 100;

/** An event is recorded up to this long after the time that it is about. */
const RECORDED_WITHIN_MS = 10_000;

/** Events have no look-up by id; the id contains the time, which narrows the list to a few. */
async function findBounce(
  call: CompatDependencies['call'],
  request: AnyRequest,
  id: string,
): Promise<BounceEvent> {
  const uuid = decodeId('evt', id);
  if (uuid !== undefined) {
    const atMs = Number.parseInt(uuid.replaceAll('-', '').slice(0, 12), 16);
    const query = {
      type: BOUNCE_EVENTS,
      order: 'desc',
      limit: String(EVENTS_MAX),
      created_after: new Date(atMs - RECORDED_WITHIN_MS).toISOString(),
      created_before: new Date(atMs + 1).toISOString(),
    };
    const { body } = await call(request, 'listEvents', { query });
    const found = (body.data as BounceEvent[]).find((event) => event.id === id);
    if (found) return found;
  }
  throw new RefusedError('not_found', 'There is no bounce with this id.');
}

interface BounceEvent {
  id: string;
  type: string;
  created_at: string;
  data: {
    message_id: string;
    recipient: string;
    tags: string[];
    bounce?: { class: string; explanation: string };
    smtp?: { text: string };
  };
}

/** https://postmarkapp.com/developer/api/bounce-api#bounce-types */
const TYPE_CODES = { HardBounce: 1, SoftBounce: 4096, SpamComplaint: 100001, Blocked: 100006 };

type BounceType = keyof typeof TYPE_CODES;

const TYPES: Record<string, BounceType> = {
  hard: 'HardBounce',
  soft: 'SoftBounce',
  block: 'Blocked',
};

const NAMES: Record<BounceType, string> = {
  HardBounce: 'Hard bounce',
  SoftBounce: 'Soft bounce',
  SpamComplaint: 'Spam complaint',
  Blocked: 'ISP block',
};

function toBounce({ id, type: eventType, created_at: at, data }: BounceEvent) {
  const type =
    eventType === 'message.complained'
      ? 'SpamComplaint'
      : (TYPES[data.bounce?.class ?? ''] ?? 'SoftBounce');
  const suppresses = type === 'HardBounce' || type === 'SpamComplaint';
  return {
    RecordType: 'Bounce',
    ID: id,
    Type: type,
    TypeCode: TYPE_CODES[type],
    Name: NAMES[type],
    Tag: data.tags[0] ?? '',
    MessageID: data.message_id,
    Description: data.bounce?.explanation ?? '',
    Details: data.smtp?.text ?? '',
    Email: data.recipient,
    BouncedAt: at,
    DumpAvailable: data.smtp !== undefined,
    Inactive: suppresses,
    CanActivate: suppresses,
    MessageStream: OUTBOUND,
  };
}
