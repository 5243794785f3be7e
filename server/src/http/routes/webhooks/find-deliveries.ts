import { scansDeliveries } from '../../../webhooks/history/webhook-delivery-list-store.ts';
import type { WebhookHistory } from '../../../webhooks/history/webhook-history.ts';
import { closed, LIMIT_DEFAULT, page } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import type { LargeResponseLimiter } from '../../server/large-response-limiter.ts';
import {
  DELIVERY_FILTERS,
  parseDeliveryCursor,
  parseDeliveryFilter,
  toDeliveryPage,
  WEBHOOK_FILTER,
} from './delivery-query.ts';
import { WebhookDelivery } from './schemas.ts';

export function findWebhookDeliveries(deps: {
  webhookHistory: WebhookHistory;
  filteredLists: LargeResponseLimiter;
}): Operation {
  return operation(
    {
      id: 'findWebhookDeliveries',
      method: 'GET',
      path: '/webhook-deliveries',
      tag: 'Webhooks',
      summary: 'List webhook deliveries of all endpoints',
      description:
        'Newest event first. With `message_id`, this is everything your endpoints received ' +
        'about a message and how they responded. Filters can be combined. A request examines a ' +
        'limited number of deliveries, so a page may be short or empty and still have a ' +
        '`next_cursor`.',
      scope: 'read:webhooks',
      query: closed({ ...DELIVERY_FILTERS, ...WEBHOOK_FILTER }),
      queryParsers: [(query) => parseDeliveryCursor(query)],
      responses: {
        200: {
          description: 'A page of deliveries.',
          body: page(WebhookDelivery, 'WebhookDeliveryPage'),
        },
      },
      problems: ['quota_exceeded'],
    },
    async ({ caller, query, signal }) => {
      const after = parseDeliveryCursor(query);
      const limit = query.limit ?? LIMIT_DEFAULT;
      const filter = parseDeliveryFilter(query);
      if (scansDeliveries(filter)) await deps.filteredLists.acquire(caller.workspaceId, signal);
      const found = await deps.webhookHistory.list(caller, filter, { after, limit });
      return { status: 200, body: toDeliveryPage(found) };
    },
  );
}
