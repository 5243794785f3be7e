import { publicWorkspace } from '../../../accounts/workspace.ts';
import type { Workspaces } from '../../../accounts/workspaces.ts';
import { type Operation, operation } from '../../operation.ts';
import { OperatorWorkspace, WORKSPACE_PATH, workspaceInPath } from './schemas.ts';

export function resumeOperatorWorkspace(deps: { workspaces: Workspaces }): Operation {
  return operation(
    {
      id: 'resumeOperatorWorkspace',
      method: 'DELETE',
      path: '/operator/workspaces/{id}/suspension',
      tag: 'Operator',
      summary: 'Resume a workspace',
      description:
        'Held mail is sent with its next attempt, unless it has expired. If the workspace was ' +
        'paused automatically, its brake is released within a minute.',
      scope: 'operator',
      params: WORKSPACE_PATH,
      responses: { 200: { description: 'The workspace can send.', body: OperatorWorkspace } },
      problems: ['not_found'],
    },
    async ({ params }) => {
      const workspace = await workspaceInPath(deps.workspaces, params);
      return { status: 200, body: publicWorkspace(await deps.workspaces.resume(workspace)) };
    },
  );
}
