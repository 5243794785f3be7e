import { publicMembership } from '../../../accounts/people/account.ts';
import type { People } from '../../../accounts/people/people.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { Workspace } from './schemas.ts';

export function restoreWorkspace({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'restoreWorkspace',
      method: 'DELETE',
      path: '/workspaces/{id}/deletion',
      tag: 'Account',
      summary: 'Restore a workspace',
      description:
        'Cancels the deletion of a workspace, if it has not started. Held mail is sent with its next ' +
        'attempt, unless it has expired. Only owners can restore a workspace.',
      scope: 'person',
      params: pathId('wsp', 'the workspace'),
      responses: { 200: { description: 'The workspace is restored.', body: Workspace } },
      problems: ['not_found', 'insufficient_role', 'conflict'],
    },
    async ({ signedIn, params }) => {
      const id = decodePathId('wsp', (params as { id: string }).id, 'workspace');
      return {
        status: 200,
        body: publicMembership(
          await people.account.restoreWorkspace(signedIn, id),
          signedIn.session,
        ),
      };
    },
  );
}
