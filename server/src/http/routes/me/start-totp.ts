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
      summary: 'Set up a second factor',
      description:
        'Returns a secret for an authenticator app. Signing in requires no code until the ' +
        'secret is confirmed.',
      scope: 'person',
      body: WithPassword,
      examples: {
        start: { summary: 'Password', value: { password: 'tulip freight oboe' } },
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
