import type { People } from '../../../accounts/people/people.ts';
import { personFieldErrors } from '../../../accounts/people/person-input.ts';
import { Password, Token } from '../../openapi/account-fields.ts';
import { closed } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';

export function completePasswordReset({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'completePasswordReset',
      method: 'POST',
      path: '/password-resets/complete',
      tag: 'Sign-in',
      summary: 'Set a new password with a link',
      description:
        '`token` is the part after # of the link, which works once and for an hour. Every session ' +
        'of the person ends; a second factor stays.',
      scope: 'public',
      csrfProtected: true,
      body: closed({ token: Token, password: Password }, { title: 'CompletePasswordReset' }),
      semanticChecks: personFieldErrors,
      examples: {
        link: {
          summary: 'The token of a link',
          value: { token: 'fZ0nQb0mS8-2kJc1', password: 'kettle rain ladders' },
        },
      },
      responses: { 204: { description: 'The new password is set. Sign in with it.' } },
      problems: ['invalid_link', 'too_many_attempts'],
    },
    async ({ body, client }) => {
      await people.resets.complete(body.token, body.password, client);
      return { status: 204 };
    },
  );
}
