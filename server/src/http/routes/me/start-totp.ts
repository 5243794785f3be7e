import type { People } from '../../../accounts/people/people.ts';
import { type Operation, operation } from '../../operation.ts';
import { TotpSetup, WithPassword } from './schemas.ts';

export function startTotp({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'startTotp',
      method: 'POST',
      path: '/me/totp',
      tag: 'Account',
      summary: 'Begin to set up a second factor',
      description:
        'A secret for an authenticator app. Nothing is asked for at sign-in until a first code has ' +
        'confirmed it.',
      scope: 'person',
      body: WithPassword,
      examples: {
        start: { summary: 'One’s password', value: { password: 'tulip freight oboe' } },
      },
      responses: { 200: { description: 'The secret.', body: TotpSetup } },
      problems: ['conflict', 'too_many_attempts'],
    },
    async ({ signedIn, body, client }) => ({
      status: 200,
      body: await people.account.startSecondFactor(signedIn, body.password, client),
    }),
  );
}
