import type { People } from '../../../accounts/people/people.ts';
import { type Operation, operation } from '../../operation.ts';
import { PasskeyOptions } from './schemas.ts';

export function startPasskeySignIn({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'startPasskeySignIn',
      method: 'POST',
      path: '/session/passkey/options',
      tag: 'Sign-in',
      summary: 'Start to sign in with a passkey',
      description:
        'Returns the options for `navigator.credentials.get()`, which are valid once and for five ' +
        'minutes.',
      scope: 'public',
      notAudited: 'changes nothing',
      csrfProtected: true,
      responses: { 200: { description: 'The options.', body: PasskeyOptions } },
      problems: ['conflict'],
    },
    async () => ({ status: 200, body: { options: await people.passkeys.startSignIn() } }),
  );
}
