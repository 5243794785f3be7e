import { Type } from 'typebox';
import type { Webhooks } from '../../../webhooks/webhooks.ts';
import { closed, pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { RotatedWebhook } from './schemas.ts';

const GRACE_DEFAULT_SECONDS = 24 * 60 * 60;

export function rotateWebhookSecret(deps: { webhooks: Webhooks }): Operation {
  return operation(
    {
      id: 'rotateWebhookSecret',
      method: 'POST',
      path: '/webhooks/{id}/rotate-secret',
      tag: 'Webhooks',
      summary: 'Rotate a webhook secret',
      description:
        'During the grace period, every request carries a signature for each of the two ' +
        'secrets, so that receivers can switch without downtime.',
      scope: 'write:webhooks',
      params: pathId('whk', 'the endpoint'),
      body: closed(
        {
          grace_seconds: Type.Optional(
            Type.Integer({
              minimum: 0,
              maximum: 30 * 24 * 60 * 60,
              default: GRACE_DEFAULT_SECONDS,
              description: 'How long the previous secret keeps signing.',
            }),
          ),
        },
        { title: 'RotateWebhookSecret' },
      ),
      examples: { hour: { summary: 'One hour to switch', value: { grace_seconds: 3600 } } },
      responses: {
        200: { description: 'The endpoint and its new secret.', body: RotatedWebhook },
      },
      problems: ['not_found'],
    },
    async ({ caller, params, body }) => {
      const id = decodePathId('whk', (params as { id: string }).id, 'webhook endpoint');
      const graceSeconds = body.grace_seconds ?? GRACE_DEFAULT_SECONDS;
      const rotated = await deps.webhooks.rotateSecret(caller, id, graceSeconds);
      const { webhook, secret, previousEndsAtMs } = rotated;
      const previous_ends_at = new Date(previousEndsAtMs).toISOString();
      const shown = deps.webhooks.publicWebhook(webhook);
      return { status: 200, body: { ...shown, secret, previous_ends_at } };
    },
  );
}
