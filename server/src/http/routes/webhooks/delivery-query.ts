import { type Static, Type } from 'typebox';
import { EVENT_TYPES } from '../../../events/event-types.ts';
import { decodeId, uuidFloor } from '../../../lib/ids.ts';
import type {
  DeliveryCursor,
  DeliveryFilter,
  DeliveryPage,
} from '../../../webhooks/history/webhook-delivery-list-store.ts';
import { publicDelivery } from '../../../webhooks/history/webhook-history.ts';
import { closed, oneOf, PAGE } from '../../openapi/shared-schemas.ts';
import { decodeCursor, encodeCursor, invalidCursor, isUuid } from '../../validation/cursor.ts';
import { WEBHOOK_DELIVERY_STATUSES } from './schemas.ts';

/** Filters of webhook deliveries, shared by the lists of one endpoint and of all endpoints. */
export const DELIVERY_FILTERS = {
  ...PAGE,
  status: Type.Optional(oneOf(WEBHOOK_DELIVERY_STATUSES)),
  event_type: Type.Optional(oneOf(EVENT_TYPES)),
  message_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description: 'Only deliveries of events of this message.',
    }),
  ),
  event_id: Type.Optional(
    Type.String({ minLength: 1, maxLength: 64, description: 'Only deliveries of this event.' }),
  ),
};

export const WEBHOOK_FILTER = {
  webhook_id: Type.Optional(
    Type.String({ minLength: 1, maxLength: 64, description: 'Only deliveries to this endpoint.' }),
  ),
};

const DeliveryQuery = closed({ ...DELIVERY_FILTERS, ...WEBHOOK_FILTER });

export function parseDeliveryFilter(query: Static<typeof DeliveryQuery>): DeliveryFilter {
  return {
    ...(query.status === undefined ? {} : { status: query.status }),
    ...(query.event_type === undefined ? {} : { eventType: query.event_type }),
    ...(query.message_id === undefined ? {} : { messageId: idOf('msg', query.message_id) }),
    ...(query.event_id === undefined ? {} : { eventId: idOf('evt', query.event_id) }),
    ...(query.webhook_id === undefined ? {} : { webhookId: idOf('whk', query.webhook_id) }),
  };
}

/** Returns an id that matches nothing if the text is not a valid id. */
function idOf(prefix: 'msg' | 'evt' | 'whk', text: string): string {
  return decodeId(prefix, text) ?? uuidFloor(0);
}

/** Both lists share one cursor, because the endpoint is just another filter. */
const LIST = '/webhook-deliveries';

export function parseDeliveryCursor({ cursor }: { cursor?: unknown }): DeliveryCursor | undefined {
  if (typeof cursor !== 'string') return undefined;
  const [eventId, webhookId] = decodeCursor(LIST, cursor, 2);
  if (!isUuid(eventId) || !isUuid(webhookId)) throw invalidCursor();
  return { eventId, webhookId };
}

export function toDeliveryPage({ deliveries, next }: DeliveryPage) {
  return {
    data: deliveries.map(publicDelivery),
    next_cursor: next === null ? null : encodeCursor(LIST, [next.eventId, next.webhookId]),
  };
}
