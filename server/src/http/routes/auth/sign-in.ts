import type { People } from '../../../accounts/people/people.ts';
import { type Operation, operation } from '../../operation.ts';
import type { SessionCookie } from '../../server/session-cookie.ts';
import { SET_COOKIE, SignedIn, SignIn } from './schemas.ts';
import { signedInReply } from './session-response.ts';

export function signIn(deps: { people: People; cookie: SessionCookie }): Operation {
  return operation(
    {
      id: 'signIn',
      method: 'POST',
      path: '/session',
      tag: 'Sign-in',
      summary: 'Sign in with a password',
      description:
        'The session comes as a cookie. With a second factor there is none yet: the answer has ' +
        '`second_factor_required: true` and a `challenge` for the next step.',
      scope: 'public',
      signsIn: true,
      body: SignIn,
      examples: {
        jane: {
          summary: 'Address and password',
          value: { email: 'jane@shop.example', password: 'tulip freight oboe' },
        },
      },
      answers: {
        200: { description: 'Signed in, or half-way.', body: SignedIn, headers: SET_COOKIE },
      },
      refusals: ['invalid_credentials', 'too_many_attempts'],
    },
    async ({ body, visit }) => {
      const outcome = await deps.people.signIn.withPassword(body, visit, visit.sessionToken);
      if (outcome.kind === 'signed_in') return signedInReply(deps, 200, outcome.begun);
      const { challenge } = outcome;
      return { status: 200, body: { second_factor_required: true, challenge, me: null } };
    },
  );
}
