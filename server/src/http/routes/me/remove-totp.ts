import { operation } from '../../operation.ts';
import { WithPassword } from './schemas.ts';
import type { PeopleOperationParts } from '../auth/session-response.ts';

export function removeTotp({ people }: PeopleOperationParts) {
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
