import type { People } from '../../../accounts/people/people.ts';
import { type Operation, operation } from '../../operation.ts';
import type { SessionCookie } from '../../server/session-cookie.ts';
import { SET_COOKIE, SignedOut } from './schemas.ts';

export function signOut({ people, cookie }: { people: People; cookie: SessionCookie }): Operation {
  return operation(
    {
      id: 'signOut',
      method: 'DELETE',
      path: '/session',
      tag: 'Sign-in',
      summary: 'Sign out',
      description:
        'Ends this session on every node immediately. Succeeds without a session too. If an ' +
        'identity provider started the session and has a sign-out page, the response is its URL: ' +
        'the browser goes there to sign out of the provider too.',
      scope: 'public',
      notAudited: 'no actor',
      csrfProtected: true,
      responses: {
        200: {
          description: 'Signed out of Postrider, but not yet of the identity provider.',
          body: SignedOut,
          headers: SET_COOKIE,
        },
        204: { description: 'Signed out.', headers: SET_COOKIE },
      },
    },
    async ({ client }) => {
      const { sessionToken } = client;
      const provider =
        sessionToken === undefined ? undefined : await people.sessions.end(sessionToken);
      const url = provider && (await people.singleSignOn.signOutUrl(provider));
      const headers = { 'set-cookie': cookie.clear() };
      return url === undefined
        ? { status: 204, headers }
        : { status: 200, body: { provider_sign_out_url: url }, headers };
    },
  );
}
