import type { People } from '../../../accounts/people/people.ts';
import { Code } from '../../openapi/account-fields.ts';
import { closed } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { RecoveryCodes } from './schemas.ts';

export function confirmTotp({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'confirmTotp',
      method: 'POST',
      path: '/me/totp/confirm',
      tag: 'Account',
      summary: 'Enable the second factor',
      description:
        'Requires a first code from the authenticator app. From then on, every sign-in requires a code.',
      scope: 'person',
      body: closed({ code: Code }, { title: 'ConfirmTotp' }),
      examples: { code: { summary: 'A code from the app', value: { code: '428913' } } },
      responses: { 200: { description: 'The second factor is enabled.', body: RecoveryCodes } },
      problems: ['conflict', 'too_many_attempts'],
    },
    async ({ signedIn, body, client }) => {
      const codes = await people.account.confirmSecondFactor(signedIn, body.code, client);
      return { status: 200, body: { recovery_codes: codes } };
    },
  );
}
