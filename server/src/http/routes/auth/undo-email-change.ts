import type { People } from '../../../accounts/people/people.ts';
import { personFieldErrors } from '../../../accounts/people/person-input.ts';
import { Password, Token } from '../../openapi/account-fields.ts';
import { closed } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';

export function undoEmailChange({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'undoEmailChange',
      method: 'POST',
      path: '/email-changes/undo',
      tag: 'Sign-in',
      summary: 'Undo a change of an email address',
      description:
        '`token` is the part of the link after #, which was sent to the previous address and works ' +
        'once, for seven days. The account gets the previous address back and a new password. All ' +
        'sessions of the user end; the second factor stays enabled.',
      scope: 'public',
      csrfProtected: true,
      body: closed({ token: Token, password: Password }, { title: 'UndoEmailChange' }),
      semanticChecks: personFieldErrors,
      examples: {
        link: {
          summary: 'Token from a link, and a new password',
          value: { token: 'fZ0nQb0mS8-2kJc1', password: 'kettle rain ladders' },
        },
      },
      responses: { 204: { description: 'The change was undone. Sign in with the new password.' } },
      problems: ['invalid_link', 'conflict', 'too_many_attempts'],
    },
    async (request) => {
      const { body, client } = request;
      request.accountId = await people.emailChanges.undo(body.token, body.password, client);
      return { status: 204 };
    },
  );
}
