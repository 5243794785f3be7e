import { Type } from 'typebox';
import type { Domains } from '../../../domains/domains.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';

const DnsZone = Type.Object(
  {
    zone: Type.Union([Type.String(), Type.Null()], {
      description:
        'The DNS zone that contains the domain. Null if no name servers were found, or not in time.',
    }),
    name_servers: Type.Array(Type.String()),
    provider: Type.Union([Type.String(), Type.Null()], {
      description: 'The DNS provider that runs the name servers. Null if it is not a known one.',
    }),
  },
  {
    title: 'DnsZone',
    examples: [
      {
        zone: 'yourdomain.com',
        name_servers: ['ada.ns.cloudflare.com', 'tim.ns.cloudflare.com'],
        provider: 'cloudflare',
      },
    ],
  },
);

export function getDomainDnsZone(deps: { domains: Domains }): Operation {
  return operation(
    {
      id: 'getDomainDnsZone',
      method: 'GET',
      path: '/domains/{id}/dns-zone',
      tag: 'Domains',
      summary: 'Find the DNS provider of a domain',
      description:
        'Looks up the name servers of the domain, or of the closest parent domain that has some. ' +
        'This is where its DNS records are published, and many providers expect names relative ' +
        'to this zone.',
      scope: 'read:domains',
      params: pathId('dom', 'the domain'),
      responses: { 200: { description: 'The zone and its name servers.', body: DnsZone } },
      problems: ['not_found'],
    },
    async ({ caller, params }) => {
      const id = decodePathId('dom', (params as { id: string }).id, 'domain');
      const found = await deps.domains.dnsZone(caller, id);
      return {
        status: 200,
        body: {
          zone: found?.zone ?? null,
          name_servers: found?.nameServers ?? [],
          provider: found?.provider ?? null,
        },
      };
    },
  );
}
