import { publicWorkspace } from '../../../accounts/workspace.ts';
import type { Workspaces } from '../../../accounts/workspaces.ts';
import { type Operation, operation } from '../../operation.ts';
import {
  OperatorWorkspace,
  OperatorWorkspaceInput,
  WORKSPACE_PATH,
  workspaceInPath,
} from './schemas.ts';

export function updateOperatorWorkspace(deps: { workspaces: Workspaces }): Operation {
  return operation(
    {
      id: 'updateOperatorWorkspace',
      method: 'PATCH',
      path: '/operator/workspaces/{id}',
      tag: 'Operator',
      summary: 'Rename a workspace',
      scope: 'operator',
      params: WORKSPACE_PATH,
      body: OperatorWorkspaceInput,
      examples: { name: { summary: 'Change the name', value: { name: 'Flagship shop' } } },
      responses: { 200: { description: 'The updated workspace.', body: OperatorWorkspace } },
      problems: ['not_found'],
    },
    async ({ params, body }) => {
      const workspace = await workspaceInPath(deps.workspaces, params);
      return {
        status: 200,
        body: publicWorkspace(await deps.workspaces.rename(workspace, body.name)),
      };
    },
  );
}
