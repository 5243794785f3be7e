import { publicWorkspace } from '../../../accounts/workspace.ts';
import type { Workspaces } from '../../../accounts/workspaces.ts';
import { type Operation, operation } from '../../operation.ts';
import { OperatorWorkspace, WORKSPACE_PATH, workspaceInPath } from './schemas.ts';

export function getOperatorWorkspace(deps: { workspaces: Workspaces }): Operation {
  return operation(
    {
      id: 'getOperatorWorkspace',
      method: 'GET',
      path: '/operator/workspaces/{id}',
      tag: 'Operator',
      summary: 'Retrieve a workspace',
      scope: 'operator',
      params: WORKSPACE_PATH,
      responses: { 200: { description: 'The workspace.', body: OperatorWorkspace } },
      problems: ['not_found'],
    },
    async ({ params }) => ({
      status: 200,
      body: publicWorkspace(await workspaceInPath(deps.workspaces, params)),
    }),
  );
}
