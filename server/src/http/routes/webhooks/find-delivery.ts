import { Type } from 'typebox';
import type { WebhookHistory } from '../../../webhooks/history/webhook-history.ts';
import { type Operation, operation } from '../../operation.ts';
import type { LargeResponseLimiter } from '../../server/large-response-limiter.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { DeliveryPath, WebhookDeliveryWithTries } from './schemas.ts';

export function findWebhookDelivery(deps: {
  webhookHistory: WebhookHistory;
  /** With the formats of some providers, a request contains a whole message. */
  largeAnswers: LargeResponseLimiter;
}): Operation {
  return operation(
    {
      id: 'findWebhookDelivery',
      method: 'GET',
      path: '/webhook-deliveries/{delivery_id}',
      tag: 'Webhooks',
      summary: 'Retrieve a webhook delivery by id',
      description: 'Use this if you do not know the endpoint; `webhook_id` identifies it.',
      scope: 'read:webhooks',
      params: Type.Pick(DeliveryPath, ['delivery_id']),
      responses: {
        200: { description: 'The delivery with its attempts.', body: WebhookDeliveryWithTries },
      },
      problems: ['not_found', 'quota_exceeded'],
    },
    async ({ caller, params, signal }) => {
      await deps.largeAnswers.acquire(caller.workspaceId, signal);
      const id = decodePathId(
        'whd',
        (params as { delivery_id: string }).delivery_id,
        'webhook delivery',
      );
      return { status: 200, body: await deps.webhookHistory.find(caller, id) };
    },
  );
}
