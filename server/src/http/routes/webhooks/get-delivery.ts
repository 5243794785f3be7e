import type { WebhookHistory } from '../../../webhooks/webhook-history.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { DeliveryPath, WebhookDeliveryWithTries } from './schemas.ts';

export function getWebhookDelivery(deps: { webhookHistory: WebhookHistory }): Operation {
  return operation(
    {
      id: 'getWebhookDelivery',
      method: 'GET',
      path: '/webhooks/{id}/deliveries/{delivery_id}',
      tag: 'Webhooks',
      summary: 'Look at every try of a webhook delivery',
      description: 'What was sent, what came back, how long it took and what went wrong.',
      scope: 'read:webhooks',
      params: DeliveryPath,
      responses: {
        200: { description: 'The delivery with its tries.', body: WebhookDeliveryWithTries },
      },
      problems: ['not_found'],
    },
    async ({ caller, params }) => {
      const path = params as { id: string; delivery_id: string };
      const id = decodePathId('whk', path.id, 'webhook endpoint');
      const deliveryId = decodePathId('whd', path.delivery_id, 'webhook delivery');
      const body = await deps.webhookHistory.get(caller, id, deliveryId);
      return { status: 200, body };
    },
  );
}
