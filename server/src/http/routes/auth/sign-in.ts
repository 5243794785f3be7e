import type { People } from '../../../accounts/people/people.ts';
import { type Operation, operation } from '../../operation.ts';
import type { SessionCookie } from '../../server/session-cookie.ts';
import { SET_COOKIE, SignedIn, SignIn } from './schemas.ts';
import { sessionResponse } from './session-response.ts';

export function signIn(deps: { people: People; cookie: SessionCookie }): Operation {
  return operation(
    {
      id: 'signIn',
      method: 'POST',
      path: '/session',
      tag: 'Sign-in',
      summary: 'Sign in with a password',
      description:
        'The session is set as a cookie. If the account has a second factor, no session is ' +
        'created yet: the response has `second_factor_required: true` and a `challenge` for ' +
        'the next step.',
      scope: 'public',
      csrfProtected: true,
      body: SignIn,
      examples: {
        jane: {
          summary: 'Email and password',
          value: { email: 'jane@shop.example', password: 'tulip freight oboe' },
        },
      },
      responses: {
        200: {
          description: 'Signed in, or a second factor is required.',
          body: SignedIn,
          headers: SET_COOKIE,
        },
      },
      problems: ['invalid_credentials', 'too_many_attempts'],
    },
    async ({ body, client }) => {
      const outcome = await deps.people.signIn.withPassword(body, client, client.sessionToken);
      if (outcome.kind === 'signed_in') return sessionResponse(deps, 200, outcome.begun);
      const { challenge } = outcome;
      return { status: 200, body: { second_factor_required: true, challenge, me: null } };
    },
  );
}
