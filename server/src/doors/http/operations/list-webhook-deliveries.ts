import { Type } from 'typebox';
import { EVENT_TYPES } from '../../../events/event-types.ts';
import { publicDelivery, type WebhookHistory } from '../../../webhooks/webhook-history.ts';
import { decodeUuidCursor, pageOf } from '../cursor.ts';
import { operation } from '../operation.ts';
import { uuidOf } from '../path-id.ts';
import { closed, LIMIT_DEFAULT, oneOf, PAGE, page, pathId } from '../schemas/common.ts';
import { WEBHOOK_DELIVERY_STATUSES, WebhookDelivery } from '../schemas/webhooks.ts';

export function listWebhookDeliveries(parts: { webhookHistory: WebhookHistory }) {
  return operation(
    {
      id: 'listWebhookDeliveries',
      method: 'GET',
      path: '/webhooks/{id}/deliveries',
      tag: 'Webhooks',
      summary: 'List what was sent to an endpoint',
      description: 'Newest event first.',
      scope: 'read:webhooks',
      params: pathId('whk', 'the endpoint'),
      query: closed({
        ...PAGE,
        status: Type.Optional(oneOf(WEBHOOK_DELIVERY_STATUSES)),
        event_type: Type.Optional(oneOf(EVENT_TYPES)),
      }),
      answers: {
        200: {
          description: 'A page of deliveries.',
          body: page(WebhookDelivery, 'WebhookDeliveryPage'),
        },
      },
      refusals: ['not_found'],
    },
    async ({ caller, params, query }) => {
      const id = uuidOf('whk', (params as { id: string }).id, 'webhook endpoint');
      const limit = query.limit ?? LIMIT_DEFAULT;
      const before = decodeUuidCursor(query.cursor);
      const found = await parts.webhookHistory.list(caller, id, {
        limit: limit + 1,
        ...(before === undefined ? {} : { before }),
        ...(query.status === undefined ? {} : { status: query.status }),
        ...(query.event_type === undefined ? {} : { eventType: query.event_type }),
      });
      const { rows, next_cursor } = pageOf(found, limit, (delivery) => [delivery.eventId]);
      const data = rows.map((delivery) => publicDelivery({ id }, delivery));
      return { status: 200, body: { data, next_cursor } };
    },
  );
}
