import type { People } from '../../../accounts/people/people.ts';
import { Token } from '../../openapi/account-fields.ts';
import { closed } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import type { SessionCookie } from '../../server/session-cookie.ts';
import { SET_COOKIE } from '../auth/schemas.ts';
import { Me } from './schemas.ts';

export function confirmEmailChange({
  people,
  cookie,
}: {
  people: People;
  cookie: SessionCookie;
}): Operation {
  return operation(
    {
      id: 'confirmEmailChange',
      method: 'POST',
      path: '/me/email/confirm',
      tag: 'Account',
      summary: 'Confirm your new email address',
      description:
        '`token` is the part of the link after #. All other sessions end; this one continues with a ' +
        'new cookie. The previous address gets a link that undoes the change within seven days.',
      scope: 'person',
      body: closed({ token: Token }, { title: 'ConfirmEmailChange' }),
      examples: { link: { summary: 'Token from a link', value: { token: 'fZ0nQb0mS8-2kJc1' } } },
      responses: {
        200: { description: 'The address was changed.', body: Me, headers: SET_COOKIE },
      },
      problems: ['invalid_link', 'conflict', 'too_many_attempts'],
    },
    async ({ signedIn, body, client }) => {
      const presented = client.sessionToken;
      const begun = await people.emailChanges.confirm(signedIn, body.token, client, presented);
      return {
        status: 200,
        body: await people.account.me(begun),
        headers: { 'set-cookie': cookie.set(begun.token) },
      };
    },
  );
}
