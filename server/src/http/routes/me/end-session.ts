import type { People } from '../../../accounts/people/people.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';

export function endSession({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'endSession',
      method: 'DELETE',
      path: '/me/sessions/{id}',
      tag: 'Account',
      summary: 'End a session',
      scope: 'person',
      limitedSessions: true,
      params: pathId('ses', 'the session'),
      responses: { 204: { description: 'The session has ended.' } },
      problems: ['not_found'],
    },
    async ({ signedIn, params }) => {
      const id = decodePathId('ses', (params as { id: string }).id, 'session');
      await people.sessions.endOne(signedIn, id);
      return { status: 204 };
    },
  );
}
