import { publicInvitation } from '../../../accounts/people/invitations.ts';
import type { People } from '../../../accounts/people/people.ts';
import { type Operation, operation } from '../../operation.ts';
import { actingMember } from '../members/acting-member.ts';
import { CreatedInvitation, CreateInvitation } from './schemas.ts';

export function createInvitation({ people }: { people: People }): Operation {
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
      const { signedIn, body } = request;
      const made = await people.invitations.create(actingMember(request), signedIn.person, body);
      const { invitation, link } = made;
      const shown = publicInvitation(invitation, invitation.createdAtMs);
      return { status: 201, body: { ...shown, mailed: link === null, link } };
    },
  );
}
