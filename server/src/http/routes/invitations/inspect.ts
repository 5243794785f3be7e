import type { People } from '../../../accounts/people/people.ts';
import { Token } from '../../openapi/account-fields.ts';
import { closed } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { InspectedInvitation } from './schemas.ts';

export function inspectInvitation({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'inspectInvitation',
      method: 'POST',
      path: '/invitations/inspect',
      tag: 'Sign-in',
      summary: 'Inspect an invitation',
      description: 'For the holder of the link: `token` is the part after #.',
      scope: 'public',
      notAudited: 'changes nothing',
      csrfProtected: true,
      body: closed({ token: Token }, { title: 'InspectInvitation' }),
      examples: { link: { summary: 'Token from a link', value: { token: 'fZ0nQb0mS8-2kJc1' } } },
      responses: { 200: { description: 'The invitation.', body: InspectedInvitation } },
      problems: ['invalid_link', 'too_many_attempts', 'workspace_moved'],
    },
    async ({ body, client }) => ({
      status: 200,
      body: await people.invitations.inspect(body.token, client),
    }),
  );
}
