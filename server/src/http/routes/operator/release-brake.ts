import type { Workspaces } from '../../../accounts/workspaces.ts';
import type { WorkspaceBrakes } from '../../../quotas/workspace-brakes.ts';
import { type Operation, operation } from '../../operation.ts';
import { WorkspaceBrake } from './brake-schemas.ts';
import { WORKSPACE_PATH, workspaceInPath } from './schemas.ts';

export function releaseOperatorBrake(deps: {
  workspaces: Workspaces;
  workspaceBrakes: WorkspaceBrakes;
}): Operation {
  return operation(
    {
      id: 'releaseOperatorBrake',
      method: 'DELETE',
      path: '/operator/workspaces/{id}/brake',
      tag: 'Operator',
      summary: 'Release the brake of a workspace',
      description:
        'A slowed workspace gets its full rate back, and a paused one is resumed. Bounces and ' +
        'complaints until now no longer count. Nothing happens if the brake is off. Resuming a ' +
        'paused workspace has the same effect.',
      scope: 'operator',
      params: WORKSPACE_PATH,
      responses: { 200: { description: 'The brake is off.', body: WorkspaceBrake } },
      problems: ['not_found'],
    },
    async ({ params }) => {
      const workspace = await workspaceInPath(deps.workspaces, params);
      const { brake } = await deps.workspaceBrakes.get(workspace);
      await deps.workspaceBrakes.release(workspace.id);
      if (brake?.state === 'paused') await deps.workspaces.resume(workspace);
      return { status: 200, body: await deps.workspaceBrakes.get(workspace) };
    },
  );
}
