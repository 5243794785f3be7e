import { type ApiKeys, publicKey } from '../../../accounts/api-keys.ts';
import { decodeUuidCursor, pageOf } from '../cursor.ts';
import { operation } from '../operation.ts';
import { ApiKey } from '../schemas/api-keys.ts';
import { closed, LIMIT_DEFAULT, PAGE, page } from '../schemas/pieces.ts';

export function listApiKeys(parts: { apiKeys: ApiKeys }) {
  return operation(
    {
      id: 'listApiKeys',
      method: 'GET',
      path: '/api-keys',
      tag: 'API keys',
      summary: 'List API keys',
      description: 'Newest first, revoked ones too. A test key sees only test keys.',
      scope: 'read:api_keys',
      query: closed(PAGE),
      answers: { 200: { description: 'A page of keys.', body: page(ApiKey, 'ApiKeyPage') } },
    },
    async ({ caller, query }) => {
      const limit = query.limit ?? LIMIT_DEFAULT;
      const before = decodeUuidCursor(query.cursor);
      const found = await parts.apiKeys.list(caller, {
        limit: limit + 1,
        ...(before === undefined ? {} : { before }),
      });
      const { rows, next_cursor } = pageOf(found, limit, (key) => [key.id]);
      return { status: 200, body: { data: rows.map(publicKey), next_cursor } };
    },
  );
}
