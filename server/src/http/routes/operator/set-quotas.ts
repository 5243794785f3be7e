import type { Workspaces } from '../../../accounts/workspaces.ts';
import type { WorkspaceQuotas as Quotas } from '../../../quotas/workspace-quotas.ts';
import { type Operation, operation } from '../../operation.ts';
import { SetWorkspaceQuotas, WorkspaceQuotas } from './quota-schemas.ts';
import { WORKSPACE_PATH, workspaceInPath } from './schemas.ts';

export function setOperatorQuotas(deps: {
  workspaces: Workspaces;
  workspaceQuotas: Quotas;
}): Operation {
  return operation(
    {
      id: 'setOperatorQuotas',
      method: 'PUT',
      path: '/operator/workspaces/{id}/quotas',
      tag: 'Operator',
      summary: 'Set the quotas of a workspace',
      description:
        'Replaces all quotas; one that is missing is not limited. Takes effect on every node within ' +
        'a second. Sends beyond a quota of messages or content, and contacts beyond theirs, fail ' +
        'with `quota_exceeded`, which names the quota and when it is reset. Messages with too many ' +
        'recipients fail with `validation_failed`.',
      scope: 'operator',
      params: WORKSPACE_PATH,
      body: SetWorkspaceQuotas,
      examples: {
        day: { summary: 'Per day', value: { messages_per_day: 10_000, contacts: 50_000 } },
      },
      responses: { 200: { description: 'The quotas.', body: WorkspaceQuotas } },
      problems: ['not_found'],
    },
    async ({ params, body }) => {
      const { id } = await workspaceInPath(deps.workspaces, params);
      return { status: 200, body: await deps.workspaceQuotas.set(id, body) };
    },
  );
}
