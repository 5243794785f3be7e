import type { AuthenticationResponseJSON } from '@simplewebauthn/server';
import type { People } from '../../../accounts/people/people.ts';
import { type Operation, operation } from '../../operation.ts';
import type { SessionCookie } from '../../server/session-cookie.ts';
import { SET_COOKIE, SignedIn } from '../auth/schemas.ts';
import { sessionResponse } from '../auth/session-response.ts';
import { CREDENTIAL_EXAMPLE, SignInWithPasskey } from './schemas.ts';

export function signInWithPasskey(deps: { people: People; cookie: SessionCookie }): Operation {
  return operation(
    {
      id: 'signInWithPasskey',
      method: 'POST',
      path: '/session/passkey',
      tag: 'Sign-in',
      summary: 'Sign in with a passkey',
      description:
        'The credential of the browser for the options of `POST /session/passkey/options`. The ' +
        'authenticator must have verified the user, so no second factor is required.',
      scope: 'public',
      csrfProtected: true,
      body: SignInWithPasskey,
      examples: {
        passkey: {
          summary: 'A credential of the browser',
          value: {
            credential: {
              ...CREDENTIAL_EXAMPLE,
              response: {
                clientDataJSON: 'eyJ0eXBlIjoi…',
                authenticatorData: 'SZYN5YgO…',
                signature: 'MEUCIQDx…',
                userHandle: 'AZrB1hA7…',
              },
            },
          },
        },
      },
      responses: { 200: { description: 'Signed in.', body: SignedIn, headers: SET_COOKIE } },
      problems: ['invalid_credentials', 'invalid_link', 'conflict', 'too_many_attempts'],
    },
    async ({ body, client }) => {
      const credential = body.credential as AuthenticationResponseJSON;
      const begun = await deps.people.passkeys.signIn(credential, client, client.sessionToken);
      return sessionResponse(deps, 200, begun);
    },
  );
}
