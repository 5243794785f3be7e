import type { Webhooks } from '../../../webhooks/webhooks.ts';
import { operation } from '../../operation.ts';
import { uuidOf } from '../../validation/path-id.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { Webhook } from './schemas.ts';

export function getWebhook(parts: { webhooks: Webhooks }) {
  return operation(
    {
      id: 'getWebhook',
      method: 'GET',
      path: '/webhooks/{id}',
      tag: 'Webhooks',
      summary: 'Look up a webhook endpoint',
      scope: 'read:webhooks',
      params: pathId('whk', 'the endpoint'),
      answers: { 200: { description: 'The endpoint.', body: Webhook } },
      refusals: ['not_found'],
    },
    async ({ caller, params }) => {
      const id = uuidOf('whk', (params as { id: string }).id, 'webhook endpoint');
      const webhook = await parts.webhooks.get(caller, id);
      return { status: 200, body: parts.webhooks.publicWebhook(webhook) };
    },
  );
}
