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
        'The response contains the DNS records to publish. They are checked every minute at ' +
        'first and then less often; `POST /domains/{id}/verify` checks them immediately. The ' +
        'ownership token is specific to this workspace: another workspace that sends from the ' +
        'same domain publishes its own token beside it, and workspaces that verified the ' +
        'domain or a parent domain before receive a `domain.claimed` event. Only live keys can ' +
        'change domains, because live mail depends on them; test keys can read them.',
      scope: 'write:domains',
      mode: 'live',
      body: CreateDomain,
      semanticChecks: domainFieldErrors,
      examples: {
        plain: { summary: 'A domain', value: { name: 'yourdomain.com' } },
        strict: {
          summary: 'A subdomain that requires TLS',
          value: { name: 'mail.yourdomain.com', tls: 'required' },
        },
      },
      responses: {
        201: { description: 'The domain and the records to publish.', body: Domain },
      },
      problems: ['conflict', 'quota_exceeded', 'overloaded'],
    },
    async ({ caller, body }) => {
      const domain = await deps.domains.create(caller, body as NewDomain);
      return { status: 201, body: publicDomain(domain) };
    },
  );
}
