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
      summary: 'Rename a workspace',
      description: 'For those whose role in it has `write:workspace`.',
      scope: 'person',
      params: pathId('wsp', 'the workspace'),
      body: WorkspaceInput,
      examples: { name: { summary: 'Another name', value: { name: 'Flagship shop' } } },
      responses: { 200: { description: 'The workspace as it is now.', body: Workspace } },
      problems: ['not_found', 'insufficient_role'],
    },
    async ({ signedIn, params, body }) => {
      const id = decodePathId('wsp', (params as { id: string }).id, 'workspace');
      const renamed = await people.account.renameWorkspace(signedIn, id, body.name);
      return { status: 200, body: publicMembership(renamed) };
    },
  );
}
