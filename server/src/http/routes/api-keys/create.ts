import { type ApiKeys, type NewApiKey, publicApiKey } from '../../../accounts/api-keys.ts';
import type { Streams } from '../../../streams/streams.ts';
import { type Operation, operation } from '../../operation.ts';
import { checkRestrictions } from './check-restrictions.ts';
import { ApiKeyWithToken, CreateApiKey } from './schemas.ts';

export function createApiKey(deps: { apiKeys: ApiKeys; streams: Streams }): Operation {
  return operation(
    {
      id: 'createApiKey',
      method: 'POST',
      path: '/api-keys',
      tag: 'API keys',
      summary: 'Create an API key',
      description:
        'The secret is only ever returned in this response. A key cannot grant scopes that it ' +
        'lacks: scopes default to those of the calling key that the new key can use, and a test ' +
        'key can only create test keys. Test keys cannot have `write:domains`.',
      scope: 'write:api_keys',
      body: CreateApiKey,
      semanticChecks: (body) => deps.apiKeys.fieldErrors(body),
      examples: {
        sender: {
          summary: 'A send-only key',
          value: { name: 'Web shop', mode: 'test', scopes: ['send:transactional'] },
        },
      },
      responses: { 201: { description: 'The key and its secret.', body: ApiKeyWithToken } },
      problems: ['wrong_mode'],
    },
    async ({ caller, body }) => {
      await checkRestrictions(deps, caller.workspaceId, body as NewApiKey);
      const { key, token } = await deps.apiKeys.create(caller, body as NewApiKey);
      return { status: 201, body: { ...publicApiKey(key), token } };
    },
  );
}
