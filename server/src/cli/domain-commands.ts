import { createDomains } from '../domains/create-domains.ts';
import type { DomainActor, Domains } from '../domains/domains.ts';
import { loadMailHosts } from '../domains/mail-hosts-store.ts';
import type { publicDomain } from '../domains/public-domain.ts';
import { silentLog } from '../lib/log.ts';
import type { DatabaseContext } from './command-context.ts';

/** The domains module for one command, with the host names that the server uses. */
export async function createCommandDomains(parts: DatabaseContext): Promise<Domains> {
  const { config, pool, clock, secretKey } = parts;
  const { domains } = createDomains({
    pool,
    clock,
    log: silentLog,
    secretKey,
    dnsServers: config.delivery.dnsServers,
    settings: { ...config.domains, ...(await loadMailHosts(pool)) },
  });
  return domains;
}

export type PublicDomain = ReturnType<typeof publicDomain>;

/** The operator has access to every workspace. */
export function operatorScope(workspaceId: string): DomainActor {
  return { workspaceId };
}

/** Formats the DNS records of a domain, one block each, because values are long. */
export function formatRecords(domain: PublicDomain): string {
  return domain.records
    .map((record) => {
      const state = record.status === 'pending' ? 'not checked yet' : record.status;
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
