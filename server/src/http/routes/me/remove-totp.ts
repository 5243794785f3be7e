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
      summary: 'Turn the second factor off',
      scope: 'person',
      body: WithPassword,
      examples: {
        remove: { summary: 'One’s password', value: { password: 'tulip freight oboe' } },
      },
      answers: { 204: { description: 'It is off.' } },
      refusals: ['conflict', 'too_many_attempts'],
    },
    async ({ signedIn, body, visit }) => {
      await people.account.removeSecondFactor(signedIn, body.password, visit);
      return { status: 204 };
    },
  );
}
