import type { People } from '../../../accounts/people/people.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { actingMember } from '../members/acting-member.ts';

export function revokeInvitation({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'revokeInvitation',
      method: 'DELETE',
      path: '/invitations/{id}',
      tag: 'Team',
      summary: 'Revoke an invitation',
      description:
        'The link stops working immediately. The invitation stays in the list as revoked.',
      scope: 'write:members',
      params: pathId('inv', 'the invitation'),
      responses: { 204: { description: 'Revoked.' } },
      problems: ['not_found', 'conflict'],
    },
    async (request) => {
      const { params } = request;
      const id = decodePathId('inv', (params as { id: string }).id, 'invitation');
      await people.invitations.revoke(actingMember(request), id);
      return { status: 204 };
    },
  );
}
