import type { People } from '../../../accounts/people/people.ts';
import { type Operation, operation } from '../../operation.ts';
import { actingMember } from '../members/acting-member.ts';

export function deleteSingleSignOn({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'deleteSingleSignOn',
      method: 'DELETE',
      path: '/single-sign-on',
      tag: 'Team',
      summary: 'Remove the identity provider',
      description:
        'Ends all sessions that the provider has started. Members stay members; those without a ' +
        'password can set one with a password reset. Only owners can remove it.',
      scope: 'write:workspace',
      responses: { 204: { description: 'The identity provider was removed.' } },
      problems: ['insufficient_role', 'not_found', 'conflict'],
    },
    async (request) => {
      await people.singleSignOn.connections.delete(actingMember(request));
      return { status: 204 };
    },
  );
}
