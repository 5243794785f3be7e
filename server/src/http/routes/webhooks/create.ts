import type { NewWebhook, Webhooks } from '../../../webhooks/webhooks.ts';
import { type Operation, operation } from '../../operation.ts';
import { CreateWebhook, WebhookWithSecret } from './schemas.ts';

export function createWebhook(deps: { webhooks: Webhooks }): Operation {
  return operation(
    {
      id: 'createWebhook',
      method: 'POST',
      path: '/webhooks',
      tag: 'Webhooks',
      summary: 'Create a webhook endpoint',
      description:
        'Events of the key’s mode are sent to it from now on, signed as Standard Webhooks. The ' +
        'secret is in the answer and nowhere else. Addresses inside private networks are refused.',
      scope: 'write:webhooks',
      body: CreateWebhook,
      semanticChecks: (body, _, caller) => deps.webhooks.fieldErrors(caller, body),
      examples: {
        messages: {
          summary: 'All that happens to messages',
          value: { url: 'https://yourdomain.com/hooks/mail', events: ['message.*'] },
        },
      },
      responses: {
        201: { description: 'The endpoint, with its secret.', body: WebhookWithSecret },
      },
      problems: ['conflict'],
    },
    async ({ caller, body }) => {
      const { webhook, secret } = await deps.webhooks.create(caller, body as NewWebhook);
      return { status: 201, body: { ...deps.webhooks.publicWebhook(webhook), secret } };
    },
  );
}
