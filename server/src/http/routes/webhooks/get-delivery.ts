import type { WebhookHistory } from '../../../webhooks/history/webhook-history.ts';
import { type Operation, operation } from '../../operation.ts';
import type { LargeResponseLimiter } from '../../server/large-response-limiter.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { DeliveryPath, WebhookDeliveryWithTries } from './schemas.ts';

export function getWebhookDelivery(deps: {
  webhookHistory: WebhookHistory;
  /** With the formats of some providers, a request contains a whole message. */
  largeAnswers: LargeResponseLimiter;
}): Operation {
  return operation(
    {
      id: 'getWebhookDelivery',
      method: 'GET',
      path: '/webhooks/{id}/deliveries/{delivery_id}',
      tag: 'Webhooks',
      summary: 'Retrieve a webhook delivery',
      description: 'Includes every attempt: the request, the response, the duration and any error.',
      scope: 'read:webhooks',
      params: DeliveryPath,
      responses: {
        200: { description: 'The delivery with its attempts.', body: WebhookDeliveryWithTries },
      },
      problems: ['not_found', 'quota_exceeded'],
    },
    async ({ caller, params, signal }) => {
      await deps.largeAnswers.acquire(caller.workspaceId, signal);
      const path = params as { id: string; delivery_id: string };
      const id = decodePathId('whk', path.id, 'webhook endpoint');
      const deliveryId = decodePathId('whd', path.delivery_id, 'webhook delivery');
      const body = await deps.webhookHistory.get(caller, id, deliveryId);
      return { status: 200, body };
    },
  );
}
