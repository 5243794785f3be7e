import type { WebhookTester } from '../../../webhooks/test-webhook.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { sampleData } from './event-payloads.ts';
import { TestWebhook, WebhookTestResult } from './schemas.ts';

export function testWebhook(deps: { webhookTester: WebhookTester }): Operation {
  return operation(
    {
      id: 'testWebhook',
      method: 'POST',
      path: '/webhooks/{id}/test',
      tag: 'Webhooks',
      summary: 'Send a sample to a webhook endpoint',
      description:
        'A sample of the given type, signed like any event, is sent once, now, and the receiver’s ' +
        'answer comes back. It is in no list, and works while the endpoint is switched off.',
      scope: 'write:webhooks',
      params: pathId('whk', 'the endpoint'),
      body: TestWebhook,
      examples: { bounce: { summary: 'A bounce', value: { type: 'message.bounced' } } },
      responses: { 200: { description: 'What the receiver answered.', body: WebhookTestResult } },
      problems: ['not_found'],
    },
    async ({ caller, params, body }) => {
      const id = decodePathId('whk', (params as { id: string }).id, 'webhook endpoint');
      const type = body.type ?? 'message.delivered';
      const sample = { type, data: sampleData(type) };
      return { status: 200, body: await deps.webhookTester.test(caller, id, sample) };
    },
  );
}
