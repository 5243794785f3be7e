import { publicDomain } from '../../domains/public-domain.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import { chooseWorkspace, WORKSPACE_OPTION } from '../choose-workspace.ts';
import type { Command } from '../command.ts';
import { domainsOf, ownerOf, recordsText } from '../domain-room.ts';
import { withStorage } from '../with-storage.ts';

export const domainsAdd: Command = {
  name: 'domains add',
  summary: 'Add a domain to send from, and show the DNS records to publish.',
  details:
    'With --trust the domain may send at once: your word that it is yours stands in for the DNS. ' +
    'A domain that is there already becomes trusted where it stands.',
  arguments: [{ name: 'NAME', says: 'The domain: yourdomain.com.' }],
  options: {
    trust: { says: 'Do without the DNS records.' },
    ...WORKSPACE_OPTION,
  },
  run: (given) =>
    withStorage(async (parts) => {
      const [name = ''] = given.arguments;
      const workspace = await chooseWorkspace(given, parts);
      const domains = domainsOf(parts);
      const added = given.flag('trust')
        ? await domains.trust(workspace.id, { name })
        : await domains.create(ownerOf(workspace.id), { name }).catch(sayWhereItIs(name));
      const data = publicDomain(added);
      const lines = given.flag('trust')
        ? [
            `${data.name} (${data.id}) is trusted in the workspace "${workspace.name}" and may send now.`,
            'Receivers trust its mail more with these DNS records:',
          ]
        : [
            `Added ${data.name} (${data.id}) to the workspace "${workspace.name}".`,
            `Publish these DNS records, then run "postrider domains verify ${data.name}":`,
          ];
      return { data, text: [...lines, '', recordsText(data)].join('\n') };
    }),
};

function sayWhereItIs(name: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof RefusedError) || error.code !== 'conflict') throw error;
    const next = `"postrider domains verify ${name}" shows its records.`;
    throw new RefusedError('conflict', `${error.message} ${next}`);
  };
}
