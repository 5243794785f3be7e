import type { DomainActor, Domains } from '../domains/domains.ts';
import { createDomains } from '../domains/create-domains.ts';
import type { publicDomain } from '../domains/public-domain.ts';
import { silentLog } from '../lib/log.ts';
import type { OpenParts } from './house.ts';

/** The room of domains for one command. */
export function domainsOf({ config, pool, clock, secretKey }: OpenParts): Domains {
  const { domains } = createDomains({
    pool,
    clock,
    log: silentLog,
    secretKey,
    dnsServers: config.delivery.dnsServers,
    settings: config.domains,
  });
  return domains;
}

/** The operator, who may do everything in every workspace. */
export function ownerOf(workspaceId: string): DomainActor {
  return { workspaceId, mode: 'live', keyId: undefined };
}

/** The records of a domain for people: one block each, because values are long. */
export function recordsText(domain: ReturnType<typeof publicDomain>): string {
  return domain.records
    .map((record) => {
      const state = record.status === 'pending' ? 'not looked up yet' : record.status;
      return [
        `  ${record.type}  ${record.name}`,
        `      ${record.value}`,
        `      ${record.required ? 'Required' : 'Optional'}: ${record.explanation}`,
        `      ${state.replace('_', ' ')}`,
        ...record.mistakes.map(({ detail }) => `      ${detail}`),
      ].join('\n');
    })
    .join('\n\n');
}
