import { createDomains } from '../domains/create-domains.ts';
import type { DomainActor, Domains } from '../domains/domains.ts';
import { loadMailHosts } from '../domains/mail-hosts-store.ts';
import type { publicDomain } from '../domains/public-domain.ts';
import { silentLog } from '../lib/log.ts';
import { RefusedError } from '../lib/refused-error.ts';
import type { ApiClient } from './api/api-client.ts';
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

/** Formats DNS records, one block each, because values are long. */
export function formatRecords({ records }: Pick<PublicDomain, 'records'>): string {
  return records
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

/** By name or id, over the API. */
export async function findDomainId(client: ApiClient, wanted: string): Promise<string | undefined> {
  if (wanted.startsWith('dom_')) return wanted;
  const name = wanted.toLowerCase().replace(/\.$/, '');
  const query = { limit: 100, q: name.slice(0, SEARCH_MAX) };
  for await (const domain of client.all<PublicDomain>('/domains', { query })) {
    if (domain.name === name) return domain.id;
  }
  return undefined;
}

/** The API's limit for a search text. */
const SEARCH_MAX = 200;

export function domainNotFound(where: string, wanted: string): RefusedError {
  const detail = `${where} has no domain ${wanted}. Run "postrider domains add ${wanted}" to add it.`;
  return new RefusedError('not_found', detail);
}
