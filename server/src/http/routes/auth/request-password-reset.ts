import { Type } from 'typebox';
import type { People } from '../../../accounts/people/people.ts';
import { Email } from '../../openapi/account-fields.ts';
import { closed } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';

export function requestPasswordReset({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'requestPasswordReset',
      method: 'POST',
      path: '/password-resets',
      tag: 'Sign-in',
      summary: 'Ask for a link to set a new password',
      description:
        'The answer is the same whether the address has an account or not. The link goes out by ' +
        'mail, through this service; while no domain can send, it stands in the server’s log.',
      scope: 'public',
      csrfProtected: true,
      body: closed({ email: Email }, { title: 'RequestPasswordReset' }),
      examples: { jane: { summary: 'An address', value: { email: 'jane@shop.example' } } },
      responses: {
        202: {
          description: 'If there is an account, a link is on its way.',
          body: Type.Object({}),
        },
      },
      problems: ['too_many_attempts'],
    },
    async ({ body, client }) => {
      await people.resets.request(body.email, client);
      return { status: 202, body: {} };
    },
  );
}
