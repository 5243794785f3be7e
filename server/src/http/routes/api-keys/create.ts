import { type ApiKeys, type NewApiKey, publicApiKey } from '../../../accounts/api-keys.ts';
import { type Operation, operation } from '../../operation.ts';
import { ApiKeyWithToken, CreateApiKey } from './schemas.ts';

export function createApiKey(deps: { apiKeys: ApiKeys }): Operation {
  return operation(
    {
      id: 'createApiKey',
      method: 'POST',
      path: '/api-keys',
      tag: 'API keys',
      summary: 'Create an API key',
      description:
        'The secret is in the answer and nowhere else. A key cannot grant what it lacks: scopes ' +
        'default to those of the key that asks, and a test key makes only test keys.',
      scope: 'write:api_keys',
      body: CreateApiKey,
      semanticChecks: (body) => deps.apiKeys.fieldErrors(body),
      examples: {
        sender: {
          summary: 'A key that can only send',
          value: { name: 'Web shop', mode: 'test', scopes: ['send:transactional'] },
        },
      },
      responses: { 201: { description: 'The key, with its secret.', body: ApiKeyWithToken } },
    },
    async ({ caller, body }) => {
      const { key, token } = await deps.apiKeys.create(caller, body as NewApiKey);
      return { status: 201, body: { ...publicApiKey(key), token } };
    },
  );
}
