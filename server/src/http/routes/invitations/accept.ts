import type { People } from '../../../accounts/people/people.ts';
import { personFieldErrors } from '../../../accounts/people/person-input.ts';
import { type Operation, operation } from '../../operation.ts';
import type { SessionCookie } from '../../server/session-cookie.ts';
import { SET_COOKIE, SignedIn } from '../auth/schemas.ts';
import { sessionResponse } from '../auth/session-response.ts';
import { AcceptInvitation } from './schemas.ts';

export function acceptInvitation(deps: { people: People; cookie: SessionCookie }): Operation {
  return operation(
    {
      id: 'acceptInvitation',
      method: 'POST',
      path: '/invitations/accept',
      tag: 'Sign-in',
      summary: 'Accept an invitation',
      description:
        'If the address has no account, one is created with `name` and `password`, and the ' +
        'user is signed in. A user with an account signs in first and accepts with the session. A ' +
        'link that was sent by email verifies the address. One that was passed on does not admit an ' +
        'existing account whose address is not verified.',
      scope: 'public',
      csrfProtected: true,
      body: AcceptInvitation,
      semanticChecks: personFieldErrors,
      examples: {
        fresh: {
          summary: 'Without an account',
          value: { token: 'fZ0nQb0mS8-2kJc1', name: 'Joe Doe', password: 'tulip freight oboe' },
        },
      },
      responses: {
        200: { description: 'The invitation was accepted.', body: SignedIn, headers: SET_COOKIE },
      },
      problems: [
        'invalid_link',
        'sign_in_first',
        'email_unverified',
        'too_many_attempts',
        'workspace_moved',
      ],
    },
    async ({ body, client }) => {
      const joined = await deps.people.invitations.accept(body, client.sessionToken, client);
      return sessionResponse(deps, 200, joined);
    },
  );
}
