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
      summary: 'Verify a domain',
      description:
        'Checks the DNS records now, returns what was found for each, and identifies common ' +
        'mistakes. The domain is `verified` when every required record is found.',
      scope: 'write:domains',
      mode: 'live',
      params: pathId('dom', 'the domain'),
      responses: { 200: { description: 'The updated domain.', body: Domain } },
      problems: ['not_found'],
    },
    async ({ caller, params }) => {
      const id = decodePathId('dom', (params as { id: string }).id, 'domain');
      return { status: 200, body: publicDomain(await deps.domains.verify(caller, id)) };
    },
  );
}
