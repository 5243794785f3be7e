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
      summary: 'Regenerate recovery codes',
      description: 'The previous codes stop working.',
      scope: 'person',
      body: WithPassword,
      examples: {
        renew: { summary: 'Password', value: { password: 'tulip freight oboe' } },
      },
      responses: { 200: { description: 'The new recovery codes.', body: RecoveryCodes } },
      problems: ['conflict', 'too_many_attempts'],
    },
    async ({ signedIn, body, client }) => {
      const codes = await people.account.newRecoveryCodes(signedIn, body.password, client);
      return { status: 200, body: { recovery_codes: codes } };
    },
  );
}
