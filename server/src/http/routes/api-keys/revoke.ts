import { type ApiKeys, publicApiKey } from '../../../accounts/api-keys.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { API_KEY, ApiKey } from './schemas.ts';

export function revokeApiKey(deps: { apiKeys: ApiKeys }): Operation {
  return operation(
    {
      id: 'revokeApiKey',
      method: 'DELETE',
      path: '/api-keys/{id}',
      tag: 'API keys',
      summary: 'Revoke an API key',
      description:
        'Permanent; takes effect on every node within a second. The key stays in the list as revoked.',
      scope: 'write:api_keys',
      params: pathId('key', 'the key'),
      responses: {
        200: {
          description: 'The revoked key.',
          body: ApiKey,
          example: { ...API_KEY, revoked_at: '2026-11-15T09:31:00.000Z' },
        },
      },
      problems: ['not_found'],
    },
    async ({ caller, params }) => {
      const id = decodePathId('key', (params as { id: string }).id, 'API key');
      return { status: 200, body: publicApiKey(await deps.apiKeys.revoke(caller, id)) };
    },
  );
}
