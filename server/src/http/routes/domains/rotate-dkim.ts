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
      summary: 'Rotate DKIM keys',
      description:
        'The `next` keys, which are already published, become current, and the response ' +
        'contains new `next` keys to publish. Keep the retired records in DNS while they are ' +
        'listed: mail signed with them is still in transit. Fails with `conflict` if the ' +
        'record of the next RSA key is not found, or after ten rotations in a week.',
      scope: 'write:domains',
      mode: 'live',
      params: pathId('dom', 'the domain'),
      responses: { 200: { description: 'The domain with its new keys.', body: Domain } },
      problems: ['not_found', 'conflict', 'overloaded'],
    },
    async ({ caller, params }) => {
      const id = decodePathId('dom', (params as { id: string }).id, 'domain');
      return { status: 200, body: publicDomain(await deps.domains.rotateDkim(caller, id)) };
    },
  );
}
