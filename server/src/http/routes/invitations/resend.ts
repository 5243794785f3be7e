import type { People } from '../../../accounts/people/people.ts';
import type { Pool } from '../../../db/connections/pool.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { actingMember } from '../members/acting-member.ts';
import { sentInvitation } from './invitation-delivery.ts';
import { CreatedInvitation } from './schemas.ts';

export function resendInvitation(deps: { people: People; pool: Pool; clock: Clock }): Operation {
  return operation(
    {
      id: 'resendInvitation',
      method: 'POST',
      path: '/invitations/{id}/resend',
      tag: 'Team',
      summary: 'Resend an invitation',
      description:
        'Sends a new link, which works for seven days; the earlier link stops working. While no ' +
        'domain can send, the link is included in the response. Expired invitations can be ' +
        'resent, too.',
      scope: 'write:members',
      params: pathId('inv', 'the invitation'),
      responses: { 200: { description: 'The invitation.', body: CreatedInvitation } },
      problems: ['not_found', 'conflict'],
    },
    async (request) => {
      const { params, signedIn } = request;
      const id = decodePathId('inv', (params as { id: string }).id, 'invitation');
      const { invitations } = deps.people;
      const sent = await invitations.resend(actingMember(request), signedIn.person, id);
      return { status: 200, body: await sentInvitation(deps, sent) };
    },
  );
}
