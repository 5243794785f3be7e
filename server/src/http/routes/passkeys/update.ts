import { publicPasskey } from '../../../accounts/people/passkeys/passkeys.ts';
import type { People } from '../../../accounts/people/people.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { Passkey, UpdatePasskey } from './schemas.ts';

export function updatePasskey({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'updatePasskey',
      method: 'PATCH',
      path: '/me/passkeys/{id}',
      tag: 'Account',
      summary: 'Rename a passkey',
      scope: 'person',
      params: pathId('psk', 'the passkey'),
      body: UpdatePasskey,
      examples: { name: { summary: 'Change the name', value: { name: 'Old laptop' } } },
      responses: { 200: { description: 'The passkey.', body: Passkey } },
      problems: ['not_found'],
    },
    async ({ signedIn, params, body }) => {
      const id = decodePathId('psk', (params as { id: string }).id, 'passkey');
      const renamed = await people.passkeys.rename(signedIn, id, body.name);
      return { status: 200, body: publicPasskey(renamed) };
    },
  );
}
