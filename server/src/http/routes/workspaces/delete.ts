import { publicMembership } from '../../../accounts/people/account.ts';
import type { People } from '../../../accounts/people/people.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { DeleteWorkspace, Workspace } from './schemas.ts';

export function deleteWorkspace({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'deleteWorkspace',
      method: 'POST',
      path: '/workspaces/{id}/deletion',
      tag: 'Account',
      summary: 'Delete a workspace',
      description:
        'Schedules the workspace for deletion; `name` must be its name. Until `delete_at`, live ' +
        'sends fail with `workspace_suspended`, queued mail is held, everything can be read and ' +
        'exported, and owners can restore it. Then all its data is deleted in the background, ' +
        'including accounts that are in no other workspace. Only owners can delete a workspace, and ' +
        'the last one of a server cannot be deleted.',
      scope: 'person',
      params: pathId('wsp', 'the workspace'),
      body: DeleteWorkspace,
      examples: { name: { summary: 'The name as confirmation', value: { name: 'Shop' } } },
      responses: {
        202: { description: 'The workspace is scheduled for deletion.', body: Workspace },
      },
      problems: ['not_found', 'insufficient_role', 'conflict', 'last_workspace'],
    },
    async ({ signedIn, params, body }) => {
      const id = decodePathId('wsp', (params as { id: string }).id, 'workspace');
      const deleted = await people.account.deleteWorkspace(signedIn, id, body.name);
      return { status: 202, body: publicMembership(deleted, signedIn.session) };
    },
  );
}
