import type { Domains } from '../../domains/domains.ts';
import { publicDomain, type DomainView } from '../../domains/public-domain.ts';
import { chooseWorkspace, WORKSPACE_OPTION } from '../choose-workspace.ts';
import { columns } from '../columns.ts';
import type { Command } from '../command.ts';
import { domainsOf, ownerOf } from '../domain-room.ts';
import { withStorage } from '../with-storage.ts';

const PAGE = 100;

export const domainsList: Command = {
  name: 'domains list',
  summary: 'List the domains of a workspace, newest first.',
  options: WORKSPACE_OPTION,
  run: (given) =>
    withStorage(async (parts) => {
      const workspace = await chooseWorkspace(given, parts);
      const data = (await allDomains(domainsOf(parts), workspace.id)).map(publicDomain);
      const rows = data.map((domain) => [
        domain.id,
        domain.trusted ? 'trusted' : domain.status,
        domain.checked_at ?? 'never',
        domain.name,
      ]);
      const heading = ['ID', 'STATUS', 'LOOKED UP', 'NAME'];
      return {
        data: { data, next_cursor: null },
        text: rows.length > 0 ? columns([heading, ...rows]) : 'There is none yet.',
      };
    }),
};

async function allDomains(domains: Domains, workspaceId: string): Promise<DomainView[]> {
  const all: DomainView[] = [];
  for (;;) {
    const last = all.at(-1);
    const page = await domains.list(ownerOf(workspaceId), {
      limit: PAGE,
      ...(last ? { before: last.id } : {}),
    });
    all.push(...page);
    if (page.length < PAGE) return all;
  }
}
