import type { People } from '../../../accounts/people/people.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';

export function deletePasskey({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'deletePasskey',
      method: 'DELETE',
      path: '/me/passkeys/{id}',
      tag: 'Account',
      summary: 'Remove a passkey',
      description: 'It can no longer sign in. Sessions that it has started continue.',
      scope: 'person',
      params: pathId('psk', 'the passkey'),
      responses: { 204: { description: 'The passkey was removed.' } },
      problems: ['not_found'],
    },
    async ({ signedIn, params }) => {
      const id = decodePathId('psk', (params as { id: string }).id, 'passkey');
      await people.passkeys.remove(signedIn, id);
      return { status: 204 };
    },
  );
}
