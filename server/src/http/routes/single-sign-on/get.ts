import type { People } from '../../../accounts/people/people.ts';
import { publicConnection } from '../../../accounts/people/single-sign-on/connections.ts';
import { RefusedError } from '../../../lib/refused-error.ts';
import { type Operation, operation } from '../../operation.ts';
import { SingleSignOn } from './schemas.ts';

export function getSingleSignOn({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'getSingleSignOn',
      method: 'GET',
      path: '/single-sign-on',
      tag: 'Team',
      summary: 'Retrieve the identity provider',
      scope: 'write:workspace',
      responses: { 200: { description: 'The identity provider.', body: SingleSignOn } },
      problems: ['not_found'],
    },
    async ({ caller: { workspaceId } }) => {
      const { singleSignOn } = people;
      const found = await singleSignOn.connections.get(workspaceId);
      if (!found) throw new RefusedError('not_found', 'This workspace has no identity provider.');
      return { status: 200, body: publicConnection(found, singleSignOn.urlsFor(found)) };
    },
  );
}
