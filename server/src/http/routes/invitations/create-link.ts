import type { People } from '../../../accounts/people/people.ts';
import type { Pool } from '../../../db/connections/pool.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { actingMember } from '../members/acting-member.ts';
import { sentInvitation } from './invitation-delivery.ts';
import { CreatedInvitation } from './schemas.ts';

export function createInvitationLink(deps: {
  people: People;
  pool: Pool;
  clock: Clock;
}): Operation {
  return operation(
    {
      id: 'createInvitationLink',
      method: 'POST',
      path: '/invitations/{id}/link',
      tag: 'Team',
      summary: 'Create an invitation link',
      description:
        'Returns a new link to pass on yourself, for example if the email bounced. It works once, ' +
        'for seven days; the earlier link stops working.',
      scope: 'write:members',
      params: pathId('inv', 'the invitation'),
      responses: { 200: { description: 'The invitation.', body: CreatedInvitation } },
      problems: ['not_found', 'conflict'],
    },
    async (request) => {
      const { params, signedIn } = request;
      const id = decodePathId('inv', (params as { id: string }).id, 'invitation');
      const { invitations } = deps.people;
      const sent = await invitations.createLink(actingMember(request), signedIn.person, id);
      return { status: 200, body: await sentInvitation(deps, sent) };
    },
  );
}
