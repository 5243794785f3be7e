import type { Domains } from '../../../domains/domains.ts';
import { publicDomain } from '../../../domains/public-domain.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { Domain } from './schemas.ts';

export function verifyDomain(deps: { domains: Domains }): Operation {
  return operation(
    {
      id: 'verifyDomain',
      method: 'POST',
      path: '/domains/{id}/verify',
      tag: 'Domains',
      summary: 'Look the records of a domain up now',
      description:
        'Tells per record what was found, and names the usual mistakes. The domain is `verified` when ' +
        'every required record is there.',
      scope: 'write:domains',
      params: pathId('dom', 'the domain'),
      responses: { 200: { description: 'The domain as it is now.', body: Domain } },
      problems: ['not_found'],
    },
    async ({ caller, params }) => {
      const id = decodePathId('dom', (params as { id: string }).id, 'domain');
      return { status: 200, body: publicDomain(await deps.domains.verify(caller, id)) };
    },
  );
}
