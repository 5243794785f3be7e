import { type DomainView, publicDomain } from '../../domains/public-domain.ts';
import { encodeId } from '../../lib/ids.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import { chooseWorkspace, WORKSPACE_OPTION } from '../choose-workspace.ts';
import type { Command } from '../command.ts';
import { createCommandDomains, formatRecords, operatorScope } from '../domain-commands.ts';
import { withDatabase } from '../with-database.ts';

export const domainsVerify: Command = {
  name: 'domains verify',
  summary: 'Check the DNS records of a domain now.',
  details:
    'Exits with 0 if the domain is verified or trusted and with 1 otherwise, so that scripts can wait for it.',
  arguments: [{ name: 'NAME', description: 'The domain or its id (dom_…).' }],
  options: WORKSPACE_OPTION,
  run: (input) =>
    withDatabase(async (parts) => {
      const [wanted = ''] = input.arguments;
      const workspace = await chooseWorkspace(input, parts);
      const domains = await createCommandDomains(parts);
      const owner = operatorScope(workspace.id);
      const known = await domains.find(owner, wanted);
      if (!known) {
        const detail = `Workspace "${workspace.name}" has no domain ${wanted}. Run "postrider domains add ${wanted}" to add it.`;
        throw new RefusedError('not_found', detail);
      }
      const domain = await domains.verify(owner, known.id);
      const data = publicDomain(domain);
      return {
        data,
        text: `${statusText(domain)}\n\n${formatRecords(data)}`,
        exitCode: domain.status === 'verified' ? 0 : 1,
      };
    }),
};

function statusText(domain: DomainView): string {
  const name = `${domain.name} (${encodeId('dom', domain.id)})`;
  if (domain.trusted) return `${name} is trusted and may send regardless of its records.`;
  switch (domain.status) {
    case 'pending':
      return `${name} may not send yet: a required record is missing.`;
    case 'verified':
      return `${name} is verified and may send.`;
    case 'degraded':
      return domain.sendingStopsAtMs === null
        ? `${name} may send, but its next key is no longer published.`
        : `${name} may send until ${new Date(domain.sendingStopsAtMs).toISOString()}: a required record is missing.`;
    case 'failed':
      return `${name} may no longer send: a required record was missing for too long.`;
  }
}
