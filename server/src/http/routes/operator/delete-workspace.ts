import { publicWorkspace } from '../../../accounts/workspace.ts';
import type { Workspaces } from '../../../accounts/workspaces.ts';
import { RefusedError } from '../../../lib/refused-error.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import { type Operation, operation } from '../../operation.ts';
import {
  DeleteOperatorWorkspace,
  OperatorWorkspace,
  WORKSPACE_PATH,
  workspaceInPath,
} from './schemas.ts';

export function deleteOperatorWorkspace(deps: {
  workspaces: Workspaces;
  clock: Clock;
  deletionMs: number;
}): Operation {
  return operation(
    {
      id: 'deleteOperatorWorkspace',
      method: 'POST',
      path: '/operator/workspaces/{id}/deletion',
      tag: 'Operator',
      summary: 'Delete a workspace',
      description:
        'Schedules the workspace for deletion; `name` must be its name. Until `delete_at`, live ' +
        'mail is held and the workspace can be restored. Then all its data is deleted in the ' +
        'background, including accounts that are in no other workspace. The last workspace of a ' +
        'server cannot be deleted.',
      scope: 'operator',
      params: WORKSPACE_PATH,
      body: DeleteOperatorWorkspace,
      examples: { name: { summary: 'The name as confirmation', value: { name: 'Shop' } } },
      responses: {
        202: { description: 'The workspace is scheduled for deletion.', body: OperatorWorkspace },
      },
      problems: ['not_found', 'conflict', 'last_workspace'],
    },
    async ({ params, body }) => {
      const workspace = await workspaceInPath(deps.workspaces, params);
      if (body.name !== workspace.name) {
        const detail = 'This is not the name of the workspace.';
        throw new RefusedError('validation_failed', detail, {
          errors: [{ pointer: '/name', code: 'wrong_name', detail }],
        });
      }
      const keptMs = body.immediately ? 0 : deps.deletionMs;
      const deleteAtMs = deps.clock.now() + keptMs;
      const deleted = await deps.workspaces.scheduleDeletion(workspace, deleteAtMs);
      return { status: 202, body: publicWorkspace(deleted) };
    },
  );
}
