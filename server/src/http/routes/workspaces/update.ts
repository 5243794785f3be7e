import { publicMembership } from '../../../accounts/people/account.ts';
import type { People } from '../../../accounts/people/people.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { Workspace, WorkspaceInput } from './schemas.ts';

export function updateWorkspace({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'updateWorkspace',
      method: 'PATCH',
      path: '/workspaces/{id}',
      tag: 'Account',
      summary: 'Update a workspace',
      description: 'Requires a role with `write:workspace` in the workspace.',
      scope: 'person',
      params: pathId('wsp', 'the workspace'),
      body: WorkspaceInput,
      examples: { name: { summary: 'Change the name', value: { name: 'Flagship shop' } } },
      responses: { 200: { description: 'The updated workspace.', body: Workspace } },
      problems: ['not_found', 'insufficient_role', 'single_sign_on_required'],
    },
    async ({ signedIn, params, body }) => {
      const id = decodePathId('wsp', (params as { id: string }).id, 'workspace');
      const renamed = await people.account.renameWorkspace(signedIn, id, body.name);
      return { status: 200, body: publicMembership(renamed, signedIn.session) };
    },
  );
}
