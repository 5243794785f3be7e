import type { Clock } from '../../base/clock.ts';
import type { WebhookTester } from '../../webhooks/test-webhook.ts';
import type { WebhookHistory } from '../../webhooks/webhook-history.ts';
import type { Webhooks } from '../../webhooks/webhooks.ts';
import type { Operation } from './operation.ts';
import { createWebhook } from './operations/create-webhook.ts';
import { deleteWebhook } from './operations/delete-webhook.ts';
import { findWebhookDeliveries } from './operations/find-webhook-deliveries.ts';
import { findWebhookDelivery } from './operations/find-webhook-delivery.ts';
import { getWebhook } from './operations/get-webhook.ts';
import { getWebhookDelivery } from './operations/get-webhook-delivery.ts';
import { listWebhookDeliveries } from './operations/list-webhook-deliveries.ts';
import { listWebhooks } from './operations/list-webhooks.ts';
import { replayWebhook } from './operations/replay-webhook.ts';
import { rotateWebhookSecret } from './operations/rotate-webhook-secret.ts';
import { testWebhook } from './operations/test-webhook.ts';
import { updateWebhook } from './operations/update-webhook.ts';

export interface WebhookOperationParts {
  webhooks: Webhooks;
  webhookHistory: WebhookHistory;
  webhookTester: WebhookTester;
  clock: Clock;
}

/** Endpoints, what was sent to them, and sending it again. */
export function webhookOperations(parts: WebhookOperationParts): Operation[] {
  return [
    listWebhooks(parts),
    createWebhook(parts),
    getWebhook(parts),
    updateWebhook(parts),
    deleteWebhook(parts),
    listWebhookDeliveries(parts),
    findWebhookDeliveries(parts),
    findWebhookDelivery(parts),
    getWebhookDelivery(parts),
    testWebhook(parts),
    replayWebhook(parts),
    rotateWebhookSecret(parts),
  ];
}
