import { publicWorkspace } from '../../../accounts/workspace.ts';
import type { Workspaces } from '../../../accounts/workspaces.ts';
import { type Operation, operation } from '../../operation.ts';
import { OperatorWorkspace, WORKSPACE_PATH, workspaceInPath } from './schemas.ts';

export function restoreOperatorWorkspace(deps: { workspaces: Workspaces }): Operation {
  return operation(
    {
      id: 'restoreOperatorWorkspace',
      method: 'DELETE',
      path: '/operator/workspaces/{id}/deletion',
      tag: 'Operator',
      summary: 'Restore a workspace',
      description: 'Cancels the deletion of a workspace, if it has not started.',
      scope: 'operator',
      params: WORKSPACE_PATH,
      responses: { 200: { description: 'The workspace is restored.', body: OperatorWorkspace } },
      problems: ['not_found', 'conflict'],
    },
    async ({ params }) => {
      const workspace = await workspaceInPath(deps.workspaces, params);
      return { status: 200, body: publicWorkspace(await deps.workspaces.restore(workspace)) };
    },
  );
}
