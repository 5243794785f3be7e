import type { People } from '../../../accounts/people/people.ts';
import { type Operation, operation } from '../../operation.ts';
import type { SessionCookie } from '../../server/session-cookie.ts';
import { SET_COOKIE } from './schemas.ts';

export function signOut({ people, cookie }: { people: People; cookie: SessionCookie }): Operation {
  return operation(
    {
      id: 'signOut',
      method: 'DELETE',
      path: '/session',
      tag: 'Sign-in',
      summary: 'Sign out',
      description: 'Ends this session on every node immediately. Succeeds without a session too.',
      scope: 'public',
      notAudited: 'no actor',
      csrfProtected: true,
      responses: { 204: { description: 'Signed out.', headers: SET_COOKIE } },
    },
    async ({ client }) => {
      if (client.sessionToken !== undefined) await people.sessions.end(client.sessionToken);
      return { status: 204, headers: { 'set-cookie': cookie.clear() } };
    },
  );
}
