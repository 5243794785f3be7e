import type { Domains } from '../../../domains/domains.ts';
import { publicDomain } from '../../../domains/public-domain.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { Domain } from './schemas.ts';

export function rotateDomainDkim(deps: { domains: Domains }): Operation {
  return operation(
    {
      id: 'rotateDomainDkim',
      method: 'POST',
      path: '/domains/{id}/rotate-dkim',
      tag: 'Domains',
      summary: 'Sign with the next DKIM keys',
      description:
        'The next keys, which are published already, sign from now on, and the answer has new next ' +
        'ones to publish when you find the time. Keep the retired ones in the DNS while they are ' +
        'listed: mail is still on its way. Refused with `conflict` when the next RSA key’s record is ' +
        'not found, and after ten rotations in a week.',
      scope: 'write:domains',
      params: pathId('dom', 'the domain'),
      responses: { 200: { description: 'The domain, with its new keys.', body: Domain } },
      problems: ['not_found', 'conflict', 'overloaded'],
    },
    async ({ caller, params }) => {
      const id = decodePathId('dom', (params as { id: string }).id, 'domain');
      return { status: 200, body: publicDomain(await deps.domains.rotateDkim(caller, id)) };
    },
  );
}
