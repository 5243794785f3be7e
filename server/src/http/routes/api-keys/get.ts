import { type ApiKeys, publicApiKey } from '../../../accounts/api-keys.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { ApiKey } from './schemas.ts';

export function getApiKey(deps: { apiKeys: ApiKeys }): Operation {
  return operation(
    {
      id: 'getApiKey',
      method: 'GET',
      path: '/api-keys/{id}',
      tag: 'API keys',
      summary: 'Retrieve an API key',
      scope: 'read:api_keys',
      params: pathId('key', 'the key'),
      responses: { 200: { description: 'The key, without its secret.', body: ApiKey } },
      problems: ['not_found'],
    },
    async ({ caller, params }) => {
      const id = decodePathId('key', (params as { id: string }).id, 'API key');
      return { status: 200, body: publicApiKey(await deps.apiKeys.get(caller, id)) };
    },
  );
}
