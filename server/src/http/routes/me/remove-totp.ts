import type { People } from '../../../accounts/people/people.ts';
import { type Operation, operation } from '../../operation.ts';
import { WithPassword } from './schemas.ts';

export function removeTotp({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'removeTotp',
      method: 'POST',
      path: '/me/totp/remove',
      tag: 'Account',
      summary: 'Disable the second factor',
      scope: 'person',
      body: WithPassword,
      examples: {
        remove: { summary: 'Password', value: { password: 'tulip freight oboe' } },
      },
      responses: { 204: { description: 'The second factor is disabled.' } },
      problems: ['conflict', 'too_many_attempts'],
    },
    async ({ signedIn, body, client }) => {
      await people.account.removeSecondFactor(signedIn, body.password, client);
      return { status: 204 };
    },
  );
}
