import type { Domains } from '../../../domains/domains.ts';
import { publicDomain } from '../../../domains/public-domain.ts';
import { closed, LIMIT_DEFAULT, PAGE, page, searchQuery } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { toPage, uuidCursor } from '../../validation/cursor.ts';
import { Domain } from './schemas.ts';

const LIST = '/domains';

export function listDomains(deps: { domains: Domains }): Operation {
  return operation(
    {
      id: 'listDomains',
      method: 'GET',
      path: '/domains',
      tag: 'Domains',
      summary: 'List domains',
      description: 'Newest first. Live and test keys see the same domains.',
      scope: 'read:domains',
      query: closed({ ...PAGE, q: searchQuery('Search text for the name.') }),
      queryParsers: [(query) => uuidCursor(LIST, query)],
      responses: { 200: { description: 'A page of domains.', body: page(Domain, 'DomainPage') } },
    },
    async ({ caller, query }) => {
      const limit = query.limit ?? LIMIT_DEFAULT;
      const before = uuidCursor(LIST, query);
      const found = await deps.domains.list(caller, {
        limit: limit + 1,
        ...(before === undefined ? {} : { before }),
        ...(query.q === undefined ? {} : { text: query.q }),
      });
      const { rows, next_cursor } = toPage(LIST, found, limit, (domain) => [domain.id]);
      return { status: 200, body: { data: rows.map(publicDomain), next_cursor } };
    },
  );
}
