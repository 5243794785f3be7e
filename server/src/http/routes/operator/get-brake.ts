import type { Workspaces } from '../../../accounts/workspaces.ts';
import type { WorkspaceBrakes } from '../../../quotas/workspace-brakes.ts';
import { type Operation, operation } from '../../operation.ts';
import { WorkspaceBrake } from './brake-schemas.ts';
import { WORKSPACE_PATH, workspaceInPath } from './schemas.ts';

export function getOperatorBrake(deps: {
  workspaces: Workspaces;
  workspaceBrakes: WorkspaceBrakes;
}): Operation {
  return operation(
    {
      id: 'getOperatorBrake',
      method: 'GET',
      path: '/operator/workspaces/{id}/brake',
      tag: 'Operator',
      summary: 'Retrieve the brake of a workspace',
      description: 'Whether the workspace is slowed down or paused and why, and its thresholds.',
      scope: 'operator',
      params: WORKSPACE_PATH,
      responses: { 200: { description: 'The brake.', body: WorkspaceBrake } },
      problems: ['not_found'],
    },
    async ({ params }) => {
      const workspace = await workspaceInPath(deps.workspaces, params);
      return { status: 200, body: await deps.workspaceBrakes.get(workspace) };
    },
  );
}
