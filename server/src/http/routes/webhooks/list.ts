import type { Webhooks } from '../../../webhooks/webhooks.ts';
import { closed, LIMIT_DEFAULT, PAGE, page } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { toPage, uuidCursor } from '../../validation/cursor.ts';
import { Webhook } from './schemas.ts';

const LIST = '/webhooks';

export function listWebhooks(deps: { webhooks: Webhooks }): Operation {
  return operation(
    {
      id: 'listWebhooks',
      method: 'GET',
      path: '/webhooks',
      tag: 'Webhooks',
      summary: 'List webhook endpoints',
      description: 'Newest first. Each mode has its own endpoints.',
      scope: 'read:webhooks',
      query: closed(PAGE),
      queryParsers: [(query) => uuidCursor(LIST, query)],
      responses: {
        200: { description: 'A page of endpoints.', body: page(Webhook, 'WebhookPage') },
      },
    },
    async ({ caller, query }) => {
      const limit = query.limit ?? LIMIT_DEFAULT;
      const before = uuidCursor(LIST, query);
      const found = await deps.webhooks.list(caller, {
        limit: limit + 1,
        ...(before === undefined ? {} : { before }),
      });
      const { rows, next_cursor } = toPage(LIST, found, limit, (webhook) => [webhook.id]);
      const data = rows.map((webhook) => deps.webhooks.publicWebhook(webhook));
      return { status: 200, body: { data, next_cursor } };
    },
  );
}
