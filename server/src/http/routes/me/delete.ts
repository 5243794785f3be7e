import type { People } from '../../../accounts/people/people.ts';
import { type Operation, operation } from '../../operation.ts';
import type { SessionCookie } from '../../server/session-cookie.ts';
import { SET_COOKIE } from '../auth/schemas.ts';
import { DeleteMe } from './schemas.ts';

export function deleteMe({ people, cookie }: { people: People; cookie: SessionCookie }): Operation {
  return operation(
    {
      id: 'deleteMe',
      method: 'POST',
      path: '/me/deletion',
      tag: 'Account',
      summary: 'Delete your account',
      description:
        'Deletes the account at once, with all sessions and memberships. While you are the only ' +
        'owner of a workspace that is not scheduled for deletion, the request is rejected. ' +
        'Workspaces, and what you created in them, stay.',
      scope: 'person',
      body: DeleteMe,
      examples: {
        password: { summary: 'Password', value: { password: 'tulip freight oboe' } },
      },
      responses: { 204: { description: 'The account was deleted.', headers: SET_COOKIE } },
      problems: ['last_owner', 'conflict', 'too_many_attempts'],
    },
    async ({ signedIn, body, client }) => {
      await people.accountDeletion.delete(signedIn, body, client);
      return { status: 204, headers: { 'set-cookie': cookie.clear() } };
    },
  );
}
