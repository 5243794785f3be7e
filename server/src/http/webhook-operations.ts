import type { Clock } from '../lib/clock.ts';
import type { WebhookTester } from '../webhooks/test-webhook.ts';
import type { WebhookHistory } from '../webhooks/webhook-history.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';
import type { Operation } from './operation.ts';
import { createWebhook } from './routes/webhooks/create.ts';
import { deleteWebhook } from './routes/webhooks/delete.ts';
import { findWebhookDeliveries } from './routes/webhooks/find-deliveries.ts';
import { findWebhookDelivery } from './routes/webhooks/find-delivery.ts';
import { getWebhook } from './routes/webhooks/get.ts';
import { getWebhookDelivery } from './routes/webhooks/get-delivery.ts';
import { listWebhooks } from './routes/webhooks/list.ts';
import { listWebhookDeliveries } from './routes/webhooks/list-deliveries.ts';
import { replayWebhook } from './routes/webhooks/replay.ts';
import { rotateWebhookSecret } from './routes/webhooks/rotate-secret.ts';
import { testWebhook } from './routes/webhooks/test.ts';
import { updateWebhook } from './routes/webhooks/update.ts';

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
