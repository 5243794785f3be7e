import type { WebhookHistory } from '../../../webhooks/webhook-history.ts';
import { type Operation, operation } from '../../operation.ts';
import { uuidOf } from '../../validation/path-id.ts';
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
      answers: {
        200: { description: 'The delivery with its tries.', body: WebhookDeliveryWithTries },
      },
      refusals: ['not_found'],
    },
    async ({ caller, params }) => {
      const path = params as { id: string; delivery_id: string };
      const id = uuidOf('whk', path.id, 'webhook endpoint');
      const deliveryId = uuidOf('whd', path.delivery_id, 'webhook delivery');
      const body = await deps.webhookHistory.get(caller, id, deliveryId);
      return { status: 200, body };
    },
  );
}
