import { publicDomain } from '../../domains/public-domain.ts';
import { onTarget } from '../api/choose-target.ts';
import { chooseWorkspace, WORKSPACE_OPTION } from '../choose-workspace.ts';
import type { Command } from '../command.ts';
import {
  createCommandDomains,
  domainNotFound,
  findDomainId,
  formatRecords,
  operatorScope,
  type PublicDomain,
} from '../domain-commands.ts';
import { Progress } from '../terminal.ts';

export const domainsVerify: Command = {
  name: 'domains verify',
  summary: 'Check the DNS records of a domain now.',
  details:
    'Exits with 0 if the domain is verified or trusted and with 1 otherwise, so that scripts can wait for it.',
  target: 'either',
  arguments: [{ name: 'NAME', description: 'The domain or its id (dom_…).' }],
  options: WORKSPACE_OPTION,
  run: async (input) => {
    const [wanted = ''] = input.arguments;
    using progress = new Progress({ json: input.flag('json') });
    const data = await onTarget<PublicDomain>(input, {
      api: async ({ client, url }) => {
        const id = await findDomainId(client, wanted);
        if (id === undefined) throw domainNotFound(url, wanted);
        progress.update('Checking the DNS records…');
        return client.request<PublicDomain>('POST', '/domains/{id}/verify', { path: { id } });
      },
      database: async (parts) => {
        const workspace = await chooseWorkspace(input, parts);
        const domains = await createCommandDomains(parts);
        const owner = operatorScope(workspace.id);
        const known = await domains.find(owner, wanted);
        if (!known) throw domainNotFound(`Workspace "${workspace.name}"`, wanted);
        progress.update('Checking the DNS records…');
        return publicDomain(await domains.verify(owner, known.id));
      },
    });
    return {
      data,
      text: `${statusText(data)}\n\n${formatRecords(data)}`,
      exitCode: data.status === 'verified' ? 0 : 1,
    };
  },
};

function statusText(domain: PublicDomain): string {
  const name = `${domain.name} (${domain.id})`;
  if (domain.trusted) return `${name} is trusted and may send regardless of its records.`;
  switch (domain.status) {
    case 'pending':
      return `${name} may not send yet: a required record is missing.`;
    case 'verified':
      return `${name} is verified and may send.`;
    case 'degraded':
      return domain.sending_stops_at === null
        ? `${name} may send, but its next key is no longer published.`
        : `${name} may send until ${domain.sending_stops_at}: a required record is missing.`;
    case 'failed':
      return `${name} may no longer send: a required record was missing for too long.`;
  }
}
