import { scansDeliveries } from '../../../webhooks/history/webhook-delivery-list-store.ts';
import type { WebhookHistory } from '../../../webhooks/history/webhook-history.ts';
import { closed, LIMIT_DEFAULT, page, pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import type { LargeResponseLimiter } from '../../server/large-response-limiter.ts';
import { decodePathId } from '../../validation/path-id.ts';
import {
  DELIVERY_FILTERS,
  parseDeliveryCursor,
  parseDeliveryFilter,
  toDeliveryPage,
} from './delivery-query.ts';
import { WebhookDelivery } from './schemas.ts';

export function listWebhookDeliveries(deps: {
  webhookHistory: WebhookHistory;
  filteredLists: LargeResponseLimiter;
}): Operation {
  return operation(
    {
      id: 'listWebhookDeliveries',
      method: 'GET',
      path: '/webhooks/{id}/deliveries',
      tag: 'Webhooks',
      summary: 'List webhook deliveries of an endpoint',
      description:
        'Newest event first. Filters can be combined. A request examines a limited number of ' +
        'deliveries, so a page may be short or empty and still have a `next_cursor`. `GET ' +
        '/webhook-deliveries` lists the deliveries of all endpoints.',
      scope: 'read:webhooks',
      params: pathId('whk', 'the endpoint'),
      query: closed(DELIVERY_FILTERS),
      queryParsers: [(query) => parseDeliveryCursor(query)],
      responses: {
        200: {
          description: 'A page of deliveries.',
          body: page(WebhookDelivery, 'WebhookDeliveryPage'),
        },
      },
      problems: ['not_found', 'quota_exceeded'],
    },
    async ({ caller, params, query, signal }) => {
      const id = decodePathId('whk', (params as { id: string }).id, 'webhook endpoint');
      const after = parseDeliveryCursor(query);
      const limit = query.limit ?? LIMIT_DEFAULT;
      const filter = parseDeliveryFilter(query);
      if (scansDeliveries(filter)) await deps.filteredLists.acquire(caller.workspaceId, signal);
      const found = await deps.webhookHistory.listForEndpoint(caller, id, filter, { after, limit });
      return { status: 200, body: toDeliveryPage(found) };
    },
  );
}
