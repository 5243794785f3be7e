import type { WebhookTester } from '../../../webhooks/test-webhook.ts';
import type { Webhooks } from '../../../webhooks/webhooks.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { SAMPLE_INBOUND_CONTENT, SAMPLE_MESSAGE, sampleData } from '../events/event-schemas.ts';
import { SUBSCRIPTION_CONFIRMATION, TestWebhook, WebhookTestResult } from './schemas.ts';

export function testWebhook(deps: { webhookTester: WebhookTester; webhooks: Webhooks }): Operation {
  return operation(
    {
      id: 'testWebhook',
      method: 'POST',
      path: '/webhooks/{id}/test',
      tag: 'Webhooks',
      summary: 'Test a webhook endpoint',
      description:
        'Sends a sample event of the given type once, signed like any event, and returns the ' +
        'receiver’s response. It is not listed, and it works while the endpoint is disabled.',
      scope: 'write:webhooks',
      params: pathId('whk', 'the endpoint'),
      body: TestWebhook,
      examples: { bounce: { summary: 'A bounce', value: { type: 'message.bounced' } } },
      responses: { 200: { description: 'The receiver’s response.', body: WebhookTestResult } },
      problems: ['not_found'],
    },
    async ({ caller, params, body }) => {
      const id = decodePathId('whk', (params as { id: string }).id, 'webhook endpoint');
      await deps.webhooks.getManaged(caller, id);
      const type = body.type ?? 'message.delivered';
      if (type === SUBSCRIPTION_CONFIRMATION) {
        return { status: 200, body: await deps.webhookTester.confirm(caller, id) };
      }
      const sample = {
        type,
        data: sampleData(type),
        message: SAMPLE_MESSAGE,
        inboundContent: SAMPLE_INBOUND_CONTENT,
      };
      return { status: 200, body: await deps.webhookTester.test(caller, id, sample) };
    },
  );
}
