import type { People } from '../../../accounts/people/people.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';

export function leaveWorkspace({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'leaveWorkspace',
      method: 'POST',
      path: '/workspaces/{id}/leave',
      tag: 'Account',
      summary: 'Leave a workspace',
      description: 'All members can leave, except the last owner.',
      scope: 'person',
      params: pathId('wsp', 'the workspace'),
      responses: { 204: { description: 'You left the workspace.' } },
      problems: ['not_found', 'last_owner'],
    },
    async ({ signedIn, params }) => {
      const id = decodePathId('wsp', (params as { id: string }).id, 'workspace');
      await people.team.leave(id, signedIn.person.id);
      return { status: 204 };
    },
  );
}
