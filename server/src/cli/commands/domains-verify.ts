import { publicDomain, type DomainView } from '../../domains/public-domain.ts';
import { encodeId } from '../../lib/ids.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import { chooseWorkspace, WORKSPACE_OPTION } from '../choose-workspace.ts';
import type { Command } from '../command.ts';
import { domainsOf, ownerOf, recordsText } from '../domain-room.ts';
import { withStorage } from '../with-storage.ts';

export const domainsVerify: Command = {
  name: 'domains verify',
  summary: 'Look the DNS records of a domain up now, and say what is wrong.',
  details:
    'The exit code is 0 when the domain is verified or trusted and 1 when it is not, so that a script can wait for it.',
  arguments: [{ name: 'NAME', says: 'The domain, or its id: dom_….' }],
  options: WORKSPACE_OPTION,
  run: (given) =>
    withStorage(async (parts) => {
      const [wanted = ''] = given.arguments;
      const workspace = await chooseWorkspace(given, parts);
      const domains = domainsOf(parts);
      const owner = ownerOf(workspace.id);
      const known = await domains.find(owner, wanted);
      if (!known) {
        const detail = `The workspace "${workspace.name}" has no domain ${wanted}. "postrider domains add ${wanted}" adds it.`;
        throw new RefusedError('not_found', detail);
      }
      const domain = await domains.verify(owner, known.id);
      const data = publicDomain(domain);
      return {
        data,
        text: `${statusText(domain)}\n\n${recordsText(data)}`,
        exitCode: domain.status === 'verified' ? 0 : 1,
      };
    }),
};

function statusText(domain: DomainView): string {
  const name = `${domain.name} (${encodeId('dom', domain.id)})`;
  if (domain.trusted) return `${name} is trusted and may send, whatever its records say.`;
  switch (domain.status) {
    case 'pending':
      return `${name} may not send yet: not every required record was found.`;
    case 'verified':
      return `${name} is verified and may send.`;
    case 'degraded':
      return domain.sendingStopsAtMs === null
        ? `${name} sends, but its next key is not published any more.`
        : `${name} sends until ${new Date(domain.sendingStopsAtMs).toISOString()}: a record is gone.`;
    case 'failed':
      return `${name} may not send any more: a record was gone for too long.`;
  }
}
