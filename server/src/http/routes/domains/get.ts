import type { Domains } from '../../../domains/domains.ts';
import { publicDomain } from '../../../domains/public-domain.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { Domain } from './schemas.ts';

export function getDomain(deps: { domains: Domains }): Operation {
  return operation(
    {
      id: 'getDomain',
      method: 'GET',
      path: '/domains/{id}',
      tag: 'Domains',
      summary: 'Retrieve a domain',
      description:
        'Includes the result of the last DNS check of each record. Does not start a new check.',
      scope: 'read:domains',
      params: pathId('dom', 'the domain'),
      responses: { 200: { description: 'The domain.', body: Domain } },
      problems: ['not_found'],
    },
    async ({ caller, params }) => {
      const id = decodePathId('dom', (params as { id: string }).id, 'domain');
      return { status: 200, body: publicDomain(await deps.domains.get(caller, id)) };
    },
  );
}
