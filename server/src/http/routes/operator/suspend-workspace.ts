import { publicWorkspace } from '../../../accounts/workspace.ts';
import type { Workspaces } from '../../../accounts/workspaces.ts';
import { type Operation, operation } from '../../operation.ts';
import { OperatorWorkspace, SuspendWorkspace, WORKSPACE_PATH, workspaceInPath } from './schemas.ts';

export function suspendOperatorWorkspace(deps: { workspaces: Workspaces }): Operation {
  return operation(
    {
      id: 'suspendOperatorWorkspace',
      method: 'POST',
      path: '/operator/workspaces/{id}/suspension',
      tag: 'Operator',
      summary: 'Suspend a workspace',
      description:
        'Live sends fail with `workspace_suspended` on every node within a second, and queued mail ' +
        'is held. Test mode and everything else still works. If the workspace is already suspended, ' +
        'only the reason changes.',
      scope: 'operator',
      params: WORKSPACE_PATH,
      body: SuspendWorkspace,
      examples: { invoice: { summary: 'A reason', value: { reason: 'Unpaid invoice' } } },
      responses: { 200: { description: 'The workspace is suspended.', body: OperatorWorkspace } },
      problems: ['not_found'],
    },
    async ({ params, body }) => {
      const workspace = await workspaceInPath(deps.workspaces, params);
      const suspended = await deps.workspaces.suspend(workspace, body.reason.trim());
      return { status: 200, body: publicWorkspace(suspended) };
    },
  );
}
