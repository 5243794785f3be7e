import { type ApiKeys, publicApiKey } from '../../../accounts/api-keys.ts';
import { closed, LIMIT_DEFAULT, PAGE, page, searchQuery } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { encodeCursor, uuidCursor } from '../../validation/cursor.ts';
import { ApiKey } from './schemas.ts';

const LIST = '/api-keys';

export function listApiKeys(deps: { apiKeys: ApiKeys }): Operation {
  return operation(
    {
      id: 'listApiKeys',
      method: 'GET',
      path: '/api-keys',
      tag: 'API keys',
      summary: 'List API keys',
      description:
        'Newest first, including revoked keys. A test key sees only test keys. A search ' +
        'examines a limited number of keys per request: a page may be short or empty and still ' +
        'have a `next_cursor`.',
      scope: 'read:api_keys',
      query: closed({
        ...PAGE,
        q: searchQuery('Search text for the name or the `token_hint`.'),
      }),
      queryParsers: [(query) => uuidCursor(LIST, query)],
      responses: { 200: { description: 'A page of keys.', body: page(ApiKey, 'ApiKeyPage') } },
    },
    async ({ caller, query }) => {
      const limit = query.limit ?? LIMIT_DEFAULT;
      const before = uuidCursor(LIST, query);
      const { keys, nextBefore } = await deps.apiKeys.list(caller, {
        limit,
        ...(before === undefined ? {} : { before }),
        ...(query.q === undefined ? {} : { text: query.q }),
      });
      const next_cursor = nextBefore === undefined ? null : encodeCursor(LIST, [nextBefore]);
      return { status: 200, body: { data: keys.map(publicApiKey), next_cursor } };
    },
  );
}
