import { publicDomain } from '../../domains/public-domain.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import { chooseWorkspace, WORKSPACE_OPTION } from '../choose-workspace.ts';
import type { Command } from '../command.ts';
import { createCommandDomains, formatRecords, operatorScope } from '../domain-commands.ts';
import { withDatabase } from '../with-database.ts';

export const domainsAdd: Command = {
  name: 'domains add',
  summary: 'Add a sender domain and show the DNS records to publish.',
  details:
    'With --trust the domain may send at once, without DNS verification. ' +
    'A domain that already exists becomes trusted.',
  arguments: [{ name: 'NAME', description: 'The domain, for example yourdomain.com.' }],
  options: {
    trust: { description: 'Skip DNS verification.' },
    ...WORKSPACE_OPTION,
  },
  run: (input) =>
    withDatabase(async (parts) => {
      const [name = ''] = input.arguments;
      const workspace = await chooseWorkspace(input, parts);
      const domains = await createCommandDomains(parts);
      const added = input.flag('trust')
        ? await domains.trust(workspace.id, { name })
        : await domains.create(operatorScope(workspace.id), { name }).catch(withVerifyHint(name));
      const data = publicDomain(added);
      const lines = input.flag('trust')
        ? [
            `${data.name} (${data.id}) is trusted in workspace "${workspace.name}" and may send now.`,
            'These DNS records improve deliverability:',
          ]
        : [
            `Added ${data.name} (${data.id}) to workspace "${workspace.name}".`,
            `Publish these DNS records, then run "postrider domains verify ${data.name}":`,
          ];
      return { data, text: [...lines, '', formatRecords(data)].join('\n') };
    }),
};

function withVerifyHint(name: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof RefusedError) || error.code !== 'conflict') throw error;
    const next = `Run "postrider domains verify ${name}" to see its records.`;
    throw new RefusedError('conflict', `${error.message} ${next}`);
  };
}
