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
        'Takes effect immediately on every node. Invitations sent by the member are revoked; ' +
        'API keys created by the member keep working until they are revoked.',
      scope: 'write:members',
      params: pathId('usr', 'the user'),
      responses: { 204: { description: 'The member was removed.' } },
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
