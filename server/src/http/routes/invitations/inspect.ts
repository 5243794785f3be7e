import { operation } from '../../operation.ts';
import { InspectedInvitation, Token } from '../me/schemas.ts';
import { closed } from '../../openapi/shared-schemas.ts';
import type { PeopleOperationParts } from '../auth/session-response.ts';

export function inspectInvitation({ people }: PeopleOperationParts) {
  return operation(
    {
      id: 'inspectInvitation',
      method: 'POST',
      path: '/invitations/inspect',
      tag: 'Sign-in',
      summary: 'See what an invitation is for',
      description: 'For whoever holds its link: `token` is the part after #.',
      scope: 'public',
      signsIn: true,
      body: closed({ token: Token }, { title: 'InspectInvitation' }),
      examples: { link: { summary: 'The token of a link', value: { token: 'fZ0nQb0mS8-2kJc1' } } },
      answers: { 200: { description: 'The invitation.', body: InspectedInvitation } },
      refusals: ['invalid_link', 'too_many_attempts'],
    },
    async ({ body, visit }) => ({
      status: 200,
      body: await people.invitations.inspect(body.token, visit),
    }),
  );
}
