import type { Webhooks } from '../../../webhooks/webhooks.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';

export function deleteWebhook(deps: { webhooks: Webhooks }): Operation {
  return operation(
    {
      id: 'deleteWebhook',
      method: 'DELETE',
      path: '/webhooks/{id}',
      tag: 'Webhooks',
      summary: 'Delete a webhook endpoint',
      description:
        'Deletes the endpoint and its secrets permanently. Pending deliveries are discarded.',
      scope: 'write:webhooks',
      params: pathId('whk', 'the endpoint'),
      responses: { 204: { description: 'The endpoint was deleted.' } },
      problems: ['not_found'],
    },
    async ({ caller, params }) => {
      const id = decodePathId('whk', (params as { id: string }).id, 'webhook endpoint');
      await deps.webhooks.remove(caller, id);
      return { status: 204 };
    },
  );
}
