import type { People } from '../../../accounts/people/people.ts';
import { type Operation, operation } from '../../operation.ts';
import { PasskeyOptions, StartPasskey } from './schemas.ts';

export function startPasskey({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'startPasskey',
      method: 'POST',
      path: '/me/passkeys/options',
      tag: 'Account',
      summary: 'Start to add a passkey',
      description:
        'Returns the options for `navigator.credentials.create()`, which are valid once and for ' +
        'five minutes. Requires the password, and a code if the account has a second factor.',
      scope: 'person',
      body: StartPasskey,
      examples: { start: { summary: 'Password', value: { password: 'tulip freight oboe' } } },
      responses: { 200: { description: 'The options.', body: PasskeyOptions } },
      problems: ['conflict', 'too_many_attempts'],
    },
    async ({ signedIn, body: { password, code }, client }) => {
      const given = { password, ...(code === undefined ? {} : { code }) };
      const options = await people.passkeys.startRegistration(signedIn, given, client);
      return { status: 200, body: { options } };
    },
  );
}
