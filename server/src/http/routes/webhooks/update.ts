import type { Streams } from '../../../streams/streams.ts';
import type { WebhookTester } from '../../../webhooks/test-webhook.ts';
import type { WebhookChange, Webhooks } from '../../../webhooks/webhooks.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { UpdateWebhook, Webhook, webhookStreams } from './schemas.ts';

export function updateWebhook(deps: {
  webhooks: Webhooks;
  streams: Streams;
  webhookTester: WebhookTester;
}): Operation {
  return operation(
    {
      id: 'updateWebhook',
      method: 'PATCH',
      path: '/webhooks/{id}',
      tag: 'Webhooks',
      summary: 'Update a webhook endpoint',
      description: 'Can also disable the endpoint or enable it again.',
      scope: 'write:webhooks',
      params: pathId('whk', 'the endpoint'),
      body: UpdateWebhook,
      semanticChecks: (body, _, caller) => deps.webhooks.fieldErrors(caller, body),
      examples: { on: { summary: 'Enable it again', value: { enabled: true } } },
      responses: { 200: { description: 'The updated endpoint.', body: Webhook } },
      problems: ['not_found'],
    },
    async ({ caller, params, body }) => {
      const id = decodePathId('whk', (params as { id: string }).id, 'webhook endpoint');
      await deps.streams.check(caller.workspaceId, webhookStreams(body));
      const webhook = await deps.webhooks.change(caller, id, body as WebhookChange);
      if (webhook.format === 'ses-sns' && body.url !== undefined) {
        deps.webhookTester.confirmInBackground(caller, id);
      }
      return { status: 200, body: deps.webhooks.publicWebhook(webhook) };
    },
  );
}
