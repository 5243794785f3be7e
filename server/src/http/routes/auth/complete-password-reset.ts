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
      summary: 'Reset a password',
      description:
        '`token` is the part of the link after #. The link works once and expires after an ' +
        'hour. All sessions of the user end; passkeys and the second factor stay. If the address was ' +
        'not verified before, the link verifies it, and both are removed.',
      scope: 'public',
      csrfProtected: true,
      body: closed({ token: Token, password: Password }, { title: 'CompletePasswordReset' }),
      semanticChecks: personFieldErrors,
      examples: {
        link: {
          summary: 'Token from a link',
          value: { token: 'fZ0nQb0mS8-2kJc1', password: 'kettle rain ladders' },
        },
      },
      responses: { 204: { description: 'The password was changed. Sign in with the new one.' } },
      problems: ['invalid_link', 'too_many_attempts'],
    },
    async (request) => {
      const { body, client } = request;
      request.accountId = await people.resets.complete(body.token, body.password, client);
      return { status: 204 };
    },
  );
}
