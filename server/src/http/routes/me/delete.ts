import type { People } from '../../../accounts/people/people.ts';
import { type Operation, operation } from '../../operation.ts';
import type { SessionCookie } from '../../server/session-cookie.ts';
import { SET_COOKIE } from '../auth/schemas.ts';
import { AccountDeletion, DeleteMe } from './schemas.ts';

export function deleteMe({ people, cookie }: { people: People; cookie: SessionCookie }): Operation {
  return operation(
    {
      id: 'deleteMe',
      method: 'POST',
      path: '/me/deletion',
      tag: 'Account',
      summary: 'Delete your account',
      description:
        'Ends all your sessions and schedules the account for deletion. To keep it, sign in before ' +
        '`delete_at` and restore it. Then it is deleted with all memberships. While you are the ' +
        'only owner of a workspace that is not scheduled for deletion, the request is rejected. ' +
        'Workspaces, and what you created in them, stay.',
      scope: 'person',
      body: DeleteMe,
      examples: {
        password: { summary: 'Password', value: { password: 'tulip freight oboe' } },
      },
      responses: {
        202: {
          description: 'The account is scheduled for deletion.',
          body: AccountDeletion,
          headers: SET_COOKIE,
        },
      },
      problems: ['last_owner', 'conflict', 'too_many_attempts'],
    },
    async ({ signedIn, body, client }) => {
      const deleteAtMs = await people.accountDeletion.schedule(signedIn, body, client);
      return {
        status: 202,
        body: { delete_at: new Date(deleteAtMs).toISOString() },
        headers: { 'set-cookie': cookie.clear() },
      };
    },
  );
}
