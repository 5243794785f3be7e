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

export const domainsReceive: Command = {
  name: 'domains receive',
  summary: 'Receive mail for a domain and show the DNS record to publish.',
  details:
    'The domain must be verified or trusted. Mail to all of its addresses is then stored as ' +
    'inbound messages.',
  target: 'either',
  arguments: [{ name: 'NAME', description: 'The domain or its id (dom_…).' }],
  options: {
    stop: { description: 'Stop receiving mail for the domain.' },
    ...WORKSPACE_OPTION,
  },
  run: async (input) => {
    const [wanted = ''] = input.arguments;
    const receiving = !input.flag('stop');
    const data = await onTarget<PublicDomain>(input, {
      api: async ({ client, url }) => {
        const id = await findDomainId(client, wanted);
        if (id === undefined) throw domainNotFound(url, wanted);
        const options = { path: { id }, body: { receiving } };
        return client.request<PublicDomain>('PATCH', '/domains/{id}', options);
      },
      database: async (parts) => {
        const workspace = await chooseWorkspace(input, parts);
        const domains = await createCommandDomains(parts);
        const owner = operatorScope(workspace.id);
        const known = await domains.find(owner, wanted);
        if (!known) throw domainNotFound(`Workspace "${workspace.name}"`, wanted);
        return publicDomain(await domains.change(owner, known.id, { receiving }));
      },
    });
    const name = `${data.name} (${data.id})`;
    const records = data.records.filter(({ purpose }) => purpose === 'receiving');
    const text = receiving
      ? `${name} receives mail. Publish this DNS record:\n\n${formatRecords({ records })}`
      : `${name} no longer receives mail. Remove its MX record.`;
    return { data, text };
  },
};
