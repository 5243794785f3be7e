import { personFaults } from '../../../accounts/people/person-input.ts';
import { operation } from '../../operation.ts';
import { AcceptInvitation, SET_COOKIE, SignedIn } from '../me/schemas.ts';
import { type PeopleOperationParts, signedInReply } from '../auth/session-response.ts';

export function acceptInvitation(parts: PeopleOperationParts) {
  return operation(
    {
      id: 'acceptInvitation',
      method: 'POST',
      path: '/invitations/accept',
      tag: 'Sign-in',
      summary: 'Accept an invitation',
      description:
        'An address without an account gets one, with `name` and `password`, and is signed in. ' +
        'Whoever has an account signs in first and accepts with the session.',
      scope: 'public',
      signsIn: true,
      body: AcceptInvitation,
      moreFaults: personFaults,
      examples: {
        fresh: {
          summary: 'Somebody without an account',
          value: { token: 'fZ0nQb0mS8-2kJc1', name: 'Joe Doe', password: 'tulip freight oboe' },
        },
      },
      answers: { 200: { description: 'A member now.', body: SignedIn, headers: SET_COOKIE } },
      refusals: ['invalid_link', 'sign_in_first', 'too_many_attempts'],
    },
    async ({ body, visit }) => {
      const joined = await parts.people.invitations.accept(body, visit.sessionToken, visit);
      return signedInReply(parts, 200, joined);
    },
  );
}
