import { type DomainChange, domainFieldErrors } from '../../../domains/domain-settings.ts';
import type { Domains } from '../../../domains/domains.ts';
import { publicDomain } from '../../../domains/public-domain.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { Domain, UpdateDomain } from './schemas.ts';

export function updateDomain(deps: { domains: Domains }): Operation {
  return operation(
    {
      id: 'updateDomain',
      method: 'PATCH',
      path: '/domains/{id}',
      tag: 'Domains',
      summary: 'Update a domain',
      description:
        'Changes the TLS policy, tracking and receiving. Takes effect on every node within a ' +
        'second. `receiving` can only be turned on while the domain is verified, and fails with ' +
        '`conflict` if another workspace of the server receives the mail of this domain.',
      scope: 'write:domains',
      mode: 'live',
      params: pathId('dom', 'the domain'),
      body: UpdateDomain,
      semanticChecks: domainFieldErrors,
      examples: {
        strict: { summary: 'Require TLS', value: { tls: 'required' } },
        tracked: {
          summary: 'Track clicks with your own host',
          value: { tracking: { clicks: true }, tracking_host: 'links.yourdomain.com' },
        },
        receiving: { summary: 'Receive mail', value: { receiving: true } },
      },
      responses: { 200: { description: 'The updated domain.', body: Domain } },
      problems: ['not_found', 'domain_not_verified', 'conflict'],
    },
    async ({ caller, params, body }) => {
      const id = decodePathId('dom', (params as { id: string }).id, 'domain');
      const domain = await deps.domains.change(caller, id, body as DomainChange);
      return { status: 200, body: publicDomain(domain) };
    },
  );
}
