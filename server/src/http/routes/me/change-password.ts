import type { People } from '../../../accounts/people/people.ts';
import { type Operation, operation } from '../../operation.ts';
import type { SessionCookie } from '../../server/session-cookie.ts';
import { SET_COOKIE } from '../auth/schemas.ts';
import { ChangePassword } from './schemas.ts';

export function changePassword({
  people,
  cookie,
}: {
  people: People;
  cookie: SessionCookie;
}): Operation {
  return operation(
    {
      id: 'changePassword',
      method: 'POST',
      path: '/me/password',
      tag: 'Account',
      summary: 'Change your password',
      description: 'All other sessions end. This one continues with a new cookie.',
      scope: 'person',
      body: ChangePassword,
      examples: {
        change: {
          summary: 'Current and new password',
          value: { current_password: 'tulip freight oboe', new_password: 'kettle rain ladders' },
        },
      },
      responses: { 204: { description: 'The password was changed.', headers: SET_COOKIE } },
      problems: ['too_many_attempts'],
    },
    async ({ signedIn, body, client }) => {
      const change = { current: body.current_password, wanted: body.new_password };
      const presented = client.sessionToken;
      const begun = await people.account.changePassword(signedIn, change, client, presented);
      return { status: 204, headers: { 'set-cookie': cookie.set(begun.token) } };
    },
  );
}
