import type { People } from '../../../accounts/people/people.ts';
import { type Operation, operation } from '../../operation.ts';
import type { SessionCookie } from '../../server/session-cookie.ts';
import { SET_COOKIE, SignedIn, SignInWithCode } from './schemas.ts';
import { sessionResponse } from './session-response.ts';

export function signInWithCode(deps: { people: People; cookie: SessionCookie }): Operation {
  return operation(
    {
      id: 'signInWithCode',
      method: 'POST',
      path: '/session/second-factor',
      tag: 'Sign-in',
      summary: 'Sign in with a second factor',
      description:
        'Accepts a code from the authenticator app or a recovery code. Each works once. After ' +
        'a wrong code the challenge stays valid.',
      scope: 'public',
      csrfProtected: true,
      body: SignInWithCode,
      examples: {
        code: {
          summary: 'A code from the app',
          value: { challenge: 'fZ0nQb0mS8-2kJc1', code: '428913' },
        },
      },
      responses: { 200: { description: 'Signed in.', body: SignedIn, headers: SET_COOKIE } },
      problems: ['invalid_credentials', 'invalid_link', 'too_many_attempts'],
    },
    async ({ body, client }) => {
      const begun = await deps.people.signIn.withCode(body, client, client.sessionToken);
      return sessionResponse(deps, 200, begun);
    },
  );
}
