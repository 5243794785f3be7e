import type { People } from '../../../accounts/people/people.ts';
import type { Pool } from '../../../db/connections/pool.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import { type Operation, operation } from '../../operation.ts';
import { actingMember } from '../members/acting-member.ts';
import { sentInvitation } from './invitation-delivery.ts';
import { CreatedInvitation, CreateInvitation } from './schemas.ts';

export function createInvitation(deps: { people: People; pool: Pool; clock: Clock }): Operation {
  return operation(
    {
      id: 'createInvitation',
      method: 'POST',
      path: '/invitations',
      tag: 'Team',
      summary: 'Invite a member',
      description:
        'The link is sent by email from a domain of the workspace; while no domain can send, ' +
        'it is included in the response. It works once, expires after seven days, and replaces ' +
        'an earlier invitation to the same address. Only owners can invite owners.',
      scope: 'write:members',
      body: CreateInvitation,
      examples: {
        joe: {
          summary: 'A developer',
          value: { email: 'joe@shop.example', role: 'developer' },
        },
      },
      responses: { 201: { description: 'The invitation.', body: CreatedInvitation } },
      problems: ['conflict'],
    },
    async (request) => {
      const { invitations } = deps.people;
      const { signedIn, body } = request;
      const sent = await invitations.create(actingMember(request), signedIn.person, body);
      return { status: 201, body: await sentInvitation(deps, sent) };
    },
  );
}
