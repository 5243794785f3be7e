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
      summary: 'Request a password reset',
      description:
        'The response is the same whether or not the address has an account. The link is sent ' +
        'by email through this service; while no domain can send, it is written to the server ' +
        'log.',
      scope: 'public',
      notAudited: 'no actor',
      csrfProtected: true,
      body: closed({ email: Email }, { title: 'RequestPasswordReset' }),
      examples: { jane: { summary: 'An address', value: { email: 'jane@shop.example' } } },
      responses: {
        202: {
          description: 'If the account exists, a link is on its way.',
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
