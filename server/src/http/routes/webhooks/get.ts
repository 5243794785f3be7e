import type { Webhooks } from '../../../webhooks/webhooks.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { Webhook } from './schemas.ts';

export function getWebhook(deps: { webhooks: Webhooks }): Operation {
  return operation(
    {
      id: 'getWebhook',
      method: 'GET',
      path: '/webhooks/{id}',
      tag: 'Webhooks',
      summary: 'Retrieve a webhook endpoint',
      scope: 'read:webhooks',
      params: pathId('whk', 'the endpoint'),
      responses: { 200: { description: 'The endpoint.', body: Webhook } },
      problems: ['not_found'],
    },
    async ({ caller, params }) => {
      const id = decodePathId('whk', (params as { id: string }).id, 'webhook endpoint');
      const webhook = await deps.webhooks.get(caller, id);
      return { status: 200, body: deps.webhooks.publicWebhook(webhook) };
    },
  );
}
