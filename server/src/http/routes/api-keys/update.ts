import { type ApiKeyChange, type ApiKeys, publicApiKey } from '../../../accounts/api-keys.ts';
import type { Streams } from '../../../streams/streams.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { checkRestrictions } from './check-restrictions.ts';
import { ApiKey, UpdateApiKey } from './schemas.ts';

export function updateApiKey(deps: { apiKeys: ApiKeys; streams: Streams }): Operation {
  return operation(
    {
      id: 'updateApiKey',
      method: 'PATCH',
      path: '/api-keys/{id}',
      tag: 'API keys',
      summary: 'Update an API key',
      description:
        'Changes the name, scopes, restrictions or expiry. Takes effect on every node within a second.',
      scope: 'write:api_keys',
      params: pathId('key', 'the key'),
      body: UpdateApiKey,
      semanticChecks: (body) => deps.apiKeys.fieldErrors(body),
      examples: {
        office: { summary: 'Only from the office', value: { allowed_ips: ['203.0.113.0/24'] } },
      },
      responses: { 200: { description: 'The updated key.', body: ApiKey } },
      problems: ['not_found', 'conflict'],
    },
    async ({ caller, params, body }) => {
      const id = decodePathId('key', (params as { id: string }).id, 'API key');
      await checkRestrictions(deps, caller.workspaceId, body as ApiKeyChange);
      const key = await deps.apiKeys.change(caller, id, body as ApiKeyChange);
      return { status: 200, body: publicApiKey(key) };
    },
  );
}
