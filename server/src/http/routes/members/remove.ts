import type { People } from '../../../accounts/people/people.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { actingMember } from './acting-member.ts';

export function removeMember({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'removeMember',
      method: 'DELETE',
      path: '/members/{id}',
      tag: 'Team',
      summary: 'Remove a member',
      description:
        'At once, on every node. Invitations they made are revoked; API keys they made go on ' +
        'working until they are revoked.',
      scope: 'write:members',
      params: pathId('usr', 'the person'),
      responses: { 204: { description: 'No longer a member.' } },
      problems: ['not_found', 'last_owner'],
    },
    async (request) => {
      const { params } = request;
      const id = decodePathId('usr', (params as { id: string }).id, 'member');
      await people.team.remove(actingMember(request), id);
      return { status: 204 };
    },
  );
}
