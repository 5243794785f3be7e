import type { Workspaces } from '../../../accounts/workspaces.ts';
import type { WorkspaceQuotas as Quotas } from '../../../quotas/workspace-quotas.ts';
import { type Operation, operation } from '../../operation.ts';
import { WorkspaceQuotas } from './quota-schemas.ts';
import { WORKSPACE_PATH, workspaceInPath } from './schemas.ts';

export function getOperatorQuotas(deps: {
  workspaces: Workspaces;
  workspaceQuotas: Quotas;
}): Operation {
  return operation(
    {
      id: 'getOperatorQuotas',
      method: 'GET',
      path: '/operator/workspaces/{id}/quotas',
      tag: 'Operator',
      summary: 'Retrieve the quotas of a workspace',
      scope: 'operator',
      params: WORKSPACE_PATH,
      responses: { 200: { description: 'The quotas.', body: WorkspaceQuotas } },
      problems: ['not_found'],
    },
    async ({ params }) => {
      const { id } = await workspaceInPath(deps.workspaces, params);
      return { status: 200, body: await deps.workspaceQuotas.get(id) };
    },
  );
}
