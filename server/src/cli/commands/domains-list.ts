import type { Domains } from '../../domains/domains.ts';
import { type DomainView, publicDomain } from '../../domains/public-domain.ts';
import { chooseWorkspace, WORKSPACE_OPTION } from '../choose-workspace.ts';
import type { Command } from '../command.ts';
import { createCommandDomains, operatorScope } from '../domain-commands.ts';
import { formatTable } from '../format-table.ts';
import { withDatabase } from '../with-database.ts';

const PAGE = 100;

export const domainsList: Command = {
  name: 'domains list',
  summary: 'List the domains of a workspace, newest first.',
  options: WORKSPACE_OPTION,
  run: (input) =>
    withDatabase(async (parts) => {
      const workspace = await chooseWorkspace(input, parts);
      const data = (await allDomains(await createCommandDomains(parts), workspace.id)).map(
        publicDomain,
      );
      const rows = data.map((domain) => [
        domain.id,
        domain.trusted ? 'trusted' : domain.status,
        domain.checked_at ?? 'never',
        domain.name,
      ]);
      const heading = ['ID', 'STATUS', 'CHECKED', 'NAME'];
      return {
        data: { data, next_cursor: null },
        text: rows.length > 0 ? formatTable([heading, ...rows]) : 'No domains.',
      };
    }),
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
