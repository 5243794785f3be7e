import { operation } from '../../operation.ts';
import { SET_COOKIE, SignedIn, SignInWithCode } from '../me/schemas.ts';
import { type PeopleOperationParts, signedInReply } from './session-response.ts';

export function signInWithCode(parts: PeopleOperationParts) {
  return operation(
    {
      id: 'signInWithCode',
      method: 'POST',
      path: '/session/second-factor',
      tag: 'Sign-in',
      summary: 'Finish a sign-in with a code',
      description:
        'A code of the authenticator app, or one of the recovery codes. Each works once. A wrong ' +
        'one leaves the challenge as it is.',
      scope: 'public',
      signsIn: true,
      body: SignInWithCode,
      examples: {
        code: {
          summary: 'A code of the app',
          value: { challenge: 'fZ0nQb0mS8-2kJc1', code: '428913' },
        },
      },
      answers: { 200: { description: 'Signed in.', body: SignedIn, headers: SET_COOKIE } },
      refusals: ['invalid_credentials', 'invalid_link', 'too_many_attempts'],
    },
    async ({ body, visit }) => {
      const begun = await parts.people.signIn.withCode(body, visit, visit.sessionToken);
      return signedInReply(parts, 200, begun);
    },
  );
}
