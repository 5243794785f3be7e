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
      summary: 'Turn the second factor on',
      description: 'With a first code of the app. From then on it is asked for at every sign-in.',
      scope: 'person',
      body: closed({ code: Code }, { title: 'ConfirmTotp' }),
      examples: { code: { summary: 'A code of the app', value: { code: '428913' } } },
      responses: { 200: { description: 'It is on.', body: RecoveryCodes } },
      problems: ['conflict', 'too_many_attempts'],
    },
    async ({ signedIn, body, client }) => {
      const codes = await people.account.confirmSecondFactor(signedIn, body.code, client);
      return { status: 200, body: { recovery_codes: codes } };
    },
  );
}
