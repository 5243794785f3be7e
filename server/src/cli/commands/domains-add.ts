import { publicDomain } from '../../domains/public-domain.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import { onTarget } from '../api/choose-target.ts';
import { chooseWorkspace, WORKSPACE_OPTION } from '../choose-workspace.ts';
import { type Command, UsageError } from '../command.ts';
import {
  createCommandDomains,
  formatRecords,
  operatorScope,
  type PublicDomain,
} from '../domain-commands.ts';

export const domainsAdd: Command = {
  name: 'domains add',
  summary: 'Add a sender domain and show the DNS records to publish.',
  details:
    'With --trust the domain may send at once, without DNS verification. ' +
    'A domain that already exists becomes trusted.',
  target: 'either',
  arguments: [{ name: 'NAME', description: 'The domain, for example yourdomain.com.' }],
  options: {
    trust: { description: 'Skip DNS verification; for operators, on the database only.' },
    ...WORKSPACE_OPTION,
  },
  run: async (input) => {
    const [name = ''] = input.arguments;
    const trust = input.flag('trust');
    const { data, where } = await onTarget<{ data: PublicDomain; where: string }>(input, {
      api: async ({ client, url }) => {
        if (trust)
          throw new UsageError('--trust needs access to the database: run it on the server.');
        const added = client.request<PublicDomain>('POST', '/domains', { body: { name } });
        return { data: await added.catch(withVerifyHint(name)), where: url };
      },
      database: async (parts) => {
        const workspace = await chooseWorkspace(input, parts);
        const domains = await createCommandDomains(parts);
        const added = trust
          ? await domains.trust(workspace.id, { name })
          : await domains.create(operatorScope(workspace.id), { name }).catch(withVerifyHint(name));
        return { data: publicDomain(added), where: `workspace "${workspace.name}"` };
      },
    });
    const lines = trust
      ? [
          `${data.name} (${data.id}) is trusted in ${where} and may send now.`,
          'These DNS records improve deliverability:',
        ]
      : [
          `Added ${data.name} (${data.id}) to ${where}.`,
          `Publish these DNS records, then run "postrider domains verify ${data.name}":`,
        ];
    return { data, text: [...lines, '', formatRecords(data)].join('\n') };
  },
};

function withVerifyHint(name: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof RefusedError) || error.code !== 'conflict') throw error;
    const next = `Run "postrider domains verify ${name}" to see its records.`;
    throw new RefusedError('conflict', `${error.message} ${next}`);
  };
}
