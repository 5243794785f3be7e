import { domainFieldErrors, type NewDomain } from '../../../domains/domain-settings.ts';
import type { Domains } from '../../../domains/domains.ts';
import { publicDomain } from '../../../domains/public-domain.ts';
import { type Operation, operation } from '../../operation.ts';
import { CreateDomain, Domain } from './schemas.ts';

export function createDomain(deps: { domains: Domains }): Operation {
  return operation(
    {
      id: 'createDomain',
      method: 'POST',
      path: '/domains',
      tag: 'Domains',
      summary: 'Add a domain',
      description:
        'The answer has the DNS records to publish. They are looked up every minute at first and ' +
        'then less often; `POST /domains/{id}/verify` looks at once. The ownership token is this ' +
        'workspace’s own: another workspace that sends from the same domain publishes its own beside ' +
        'it, and who verified the domain, or one above it, before is told (`domain.claimed`). Live ' +
        'mail depends on domains: test keys may read them, only live keys may change them.',
      scope: 'write:domains',
      body: CreateDomain,
      semanticChecks: domainFieldErrors,
      examples: {
        plain: { summary: 'A domain', value: { name: 'yourdomain.com' } },
        strict: {
          summary: 'A subdomain whose mail is never sent unencrypted',
          value: { name: 'mail.yourdomain.com', tls: 'required' },
        },
      },
      responses: {
        201: { description: 'The domain, with the records to publish.', body: Domain },
      },
      problems: ['conflict', 'quota_exceeded', 'overloaded'],
    },
    async ({ caller, body }) => {
      const domain = await deps.domains.create(caller, body as NewDomain);
      return { status: 201, body: publicDomain(domain) };
    },
  );
}
