import type { NewWebhook, Webhooks } from '../../../webhooks/webhooks.ts';
import { operation } from '../../operation.ts';
import { CreateWebhook, WebhookWithSecret } from './schemas.ts';

export function createWebhook(parts: { webhooks: Webhooks }) {
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
      moreFaults: (body, _, caller) => parts.webhooks.faultsIn(caller, body),
      examples: {
        messages: {
          summary: 'All that happens to messages',
          value: { url: 'https://yourdomain.com/hooks/mail', events: ['message.*'] },
        },
      },
      answers: { 201: { description: 'The endpoint, with its secret.', body: WebhookWithSecret } },
      refusals: ['conflict'],
    },
    async ({ caller, body }) => {
      const { webhook, secret } = await parts.webhooks.create(caller, body as NewWebhook);
      return { status: 201, body: { ...parts.webhooks.publicWebhook(webhook), secret } };
    },
  );
}
