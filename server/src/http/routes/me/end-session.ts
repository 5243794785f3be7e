import type { People } from '../../../accounts/people/people.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { uuidOf } from '../../validation/path-id.ts';

export function endSession({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'endSession',
      method: 'DELETE',
      path: '/me/sessions/{id}',
      tag: 'Account',
      summary: 'Sign one session out',
      scope: 'person',
      params: pathId('ses', 'the session'),
      answers: { 204: { description: 'Signed out.' } },
      refusals: ['not_found'],
    },
    async ({ signedIn, params }) => {
      const id = uuidOf('ses', (params as { id: string }).id, 'session');
      await people.sessions.endOne(signedIn.person, id);
      return { status: 204 };
    },
  );
}
