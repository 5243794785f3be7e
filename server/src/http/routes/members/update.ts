import type { People } from '../../../accounts/people/people.ts';
import { publicMember } from '../../../accounts/people/team.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { actingMember } from './acting-member.ts';
import { Member, UpdateMember } from './schemas.ts';

export function updateMember({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'updateMember',
      method: 'PATCH',
      path: '/members/{id}',
      tag: 'Team',
      summary: 'Update a member’s role',
      description:
        'Takes effect with the member’s next request. Only owners can appoint or demote ' +
        'owners, and a workspace always keeps at least one.',
      scope: 'write:members',
      params: pathId('usr', 'the user'),
      body: UpdateMember,
      examples: { role: { summary: 'Change the role', value: { role: 'developer' } } },
      responses: { 200: { description: 'The updated member.', body: Member } },
      problems: ['not_found', 'last_owner'],
    },
    async (request) => {
      const { params, body } = request;
      const id = decodePathId('usr', (params as { id: string }).id, 'member');
      const member = await people.team.changeRole(actingMember(request), id, body.role);
      return { status: 200, body: publicMember(member) };
    },
  );
}
