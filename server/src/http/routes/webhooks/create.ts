import type { Streams } from '../../../streams/streams.ts';
import type { WebhookTester } from '../../../webhooks/test-webhook.ts';
import type { NewWebhook, Webhooks } from '../../../webhooks/webhooks.ts';
import { type Operation, operation } from '../../operation.ts';
import { CreateWebhook, WebhookWithSecret, webhookStreams } from './schemas.ts';

export function createWebhook(deps: {
  webhooks: Webhooks;
  streams: Streams;
  webhookTester: WebhookTester;
}): Operation {
  return operation(
    {
      id: 'createWebhook',
      method: 'POST',
      path: '/webhooks',
      tag: 'Webhooks',
      summary: 'Create a webhook endpoint',
      description:
        'Events of the key’s mode are sent to the endpoint from now on, signed according to ' +
        'Standard Webhooks, or in the format of another provider. The secret is only ever ' +
        'returned in this response. Addresses in private networks are rejected.',
      scope: 'write:webhooks',
      body: CreateWebhook,
      semanticChecks: (body, _, caller) => deps.webhooks.fieldErrors(caller, body),
      examples: {
        messages: {
          summary: 'All message events',
          value: { url: 'https://yourdomain.com/hooks/mail', events: ['message.*'] },
        },
        format: {
          summary: 'For a receiver written for SendGrid',
          value: { url: 'https://yourdomain.com/hooks/sendgrid', format: 'sendgrid' },
        },
      },
      responses: {
        201: { description: 'The endpoint and its secret.', body: WebhookWithSecret },
      },
      problems: ['conflict'],
    },
    async ({ caller, body }) => {
      await deps.streams.check(caller.workspaceId, webhookStreams(body));
      const { webhook, secret } = await deps.webhooks.create(caller, body as NewWebhook);
      if (webhook.format === 'ses-sns') deps.webhookTester.confirmInBackground(caller, webhook.id);
      return { status: 201, body: { ...deps.webhooks.publicWebhook(webhook), secret } };
    },
  );
}
