import { Type } from 'typebox';
import { type ApiKeys, GRACE_MAX_SECONDS, publicApiKey } from '../../../accounts/api-keys.ts';
import { closed, pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { RotatedApiKey } from './schemas.ts';

const GRACE_DEFAULT_SECONDS = 24 * 60 * 60;

export function rotateApiKey(deps: { apiKeys: ApiKeys }): Operation {
  return operation(
    {
      id: 'rotateApiKey',
      method: 'POST',
      path: '/api-keys/{id}/rotate',
      tag: 'API keys',
      summary: 'Rotate an API key',
      description:
        'Creates a new secret. Both secrets work during the grace period, so that clients can switch without downtime.',
      scope: 'write:api_keys',
      params: pathId('key', 'the key'),
      body: closed(
        {
          grace_seconds: Type.Optional(
            Type.Integer({
              minimum: 0,
              maximum: GRACE_MAX_SECONDS,
              default: GRACE_DEFAULT_SECONDS,
              description: 'How long the previous secret keeps working.',
            }),
          ),
        },
        { title: 'RotateApiKey' },
      ),
      examples: {
        hour: { summary: 'One hour to switch', value: { grace_seconds: 3600 } },
      },
      responses: { 200: { description: 'The key and its new secret.', body: RotatedApiKey } },
      problems: ['not_found', 'conflict'],
    },
    async ({ caller, params, body }) => {
      const id = decodePathId('key', (params as { id: string }).id, 'API key');
      const graceSeconds = body.grace_seconds ?? GRACE_DEFAULT_SECONDS;
      const { key, token, previousEndsAtMs } = await deps.apiKeys.rotate(caller, id, graceSeconds);
      const previous_ends_at = new Date(previousEndsAtMs).toISOString();
      return { status: 200, body: { ...publicApiKey(key), token, previous_ends_at } };
    },
  );
}
