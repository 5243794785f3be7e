import type { Domains } from '../../domains/domains.ts';
import { type DomainView, publicDomain } from '../../domains/public-domain.ts';
import { collect } from '../api/api-client.ts';
import { onTarget } from '../api/choose-target.ts';
import { chooseWorkspace, WORKSPACE_OPTION } from '../choose-workspace.ts';
import type { Command } from '../command.ts';
import { createCommandDomains, operatorScope, type PublicDomain } from '../domain-commands.ts';
import { listTime, paintState, table } from '../terminal.ts';

const PAGE = 100;

export const domainsList: Command = {
  name: 'domains list',
  summary: 'List the domains of a workspace, newest first.',
  target: 'either',
  options: WORKSPACE_OPTION,
  run: async (input) => {
    const data = await onTarget<PublicDomain[]>(input, {
      api: ({ client }) =>
        collect(client.all<PublicDomain>('/domains', { query: { limit: PAGE } })),
      database: async (parts) => {
        const workspace = await chooseWorkspace(input, parts);
        const domains = await createCommandDomains(parts);
        return (await allDomains(domains, workspace.id)).map(publicDomain);
      },
    });
    const rows = data.map((domain) => [
      domain.id,
      paintState(domain.trusted ? 'trusted' : domain.status),
      domain.checked_at === null ? 'never' : listTime(domain.checked_at),
      domain.name,
    ]);
    return {
      data: { data, next_cursor: null },
      text: rows.length > 0 ? table(['ID', 'STATUS', 'CHECKED', 'NAME'], rows) : 'No domains.',
    };
  },
};

async function allDomains(domains: Domains, workspaceId: string): Promise<DomainView[]> {
  const all: DomainView[] = [];
  for (;;) {
    const last = all.at(-1);
    const page = await domains.list(operatorScope(workspaceId), {
      limit: PAGE,
      ...(last ? { before: last.id } : {}),
    });
    all.push(...page);
    if (page.length < PAGE) return all;
  }
}
