import type { RegistrationResponseJSON } from '@simplewebauthn/server';
import { publicPasskey } from '../../../accounts/people/passkeys/passkeys.ts';
import type { People } from '../../../accounts/people/people.ts';
import { type Operation, operation } from '../../operation.ts';
import { CREDENTIAL_EXAMPLE, Passkey, RegisterPasskey } from './schemas.ts';

export function createPasskey({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'createPasskey',
      method: 'POST',
      path: '/me/passkeys',
      tag: 'Account',
      summary: 'Add a passkey',
      description:
        'Stores the credential that the browser has created with the options of ' +
        '`POST /me/passkeys/options`. An email informs the user.',
      scope: 'person',
      body: RegisterPasskey,
      examples: {
        laptop: {
          summary: 'A credential of the browser',
          value: {
            name: 'Laptop',
            credential: {
              ...CREDENTIAL_EXAMPLE,
              response: { clientDataJSON: 'eyJ0eXBlIjoi…', attestationObject: 'o2NmbXRk…' },
            },
          },
        },
      },
      responses: { 201: { description: 'The passkey.', body: Passkey } },
      problems: ['invalid_credentials', 'invalid_link', 'conflict'],
    },
    async ({ signedIn, body: { name, credential } }) => {
      const given = { name, credential: credential as RegistrationResponseJSON };
      const passkey = await people.passkeys.register(signedIn, given);
      return { status: 201, body: publicPasskey(passkey) };
    },
  );
}
