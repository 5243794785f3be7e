import type { People } from '../../../accounts/people/people.ts';
import { type Operation, operation } from '../../operation.ts';
import { RecoveryCodes, WithPassword } from './schemas.ts';

export function renewRecoveryCodes({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'renewRecoveryCodes',
      method: 'POST',
      path: '/me/totp/recovery-codes',
      tag: 'Account',
      summary: 'Get new recovery codes',
      description: 'The ones before no longer work.',
      scope: 'person',
      body: WithPassword,
      examples: {
        renew: { summary: 'One’s password', value: { password: 'tulip freight oboe' } },
      },
      responses: { 200: { description: 'The new ones.', body: RecoveryCodes } },
      problems: ['conflict', 'too_many_attempts'],
    },
    async ({ signedIn, body, client }) => {
      const codes = await people.account.newRecoveryCodes(signedIn, body.password, client);
      return { status: 200, body: { recovery_codes: codes } };
    },
  );
}
