import type { Workspaces } from '../../../accounts/workspaces.ts';
import type { WorkspaceQuotas as Quotas } from '../../../quotas/workspace-quotas.ts';
import { type Operation, operation } from '../../operation.ts';
import { Usage } from './quota-schemas.ts';
import { WORKSPACE_PATH, workspaceInPath } from './schemas.ts';

export function getOperatorUsage(deps: {
  workspaces: Workspaces;
  workspaceQuotas: Quotas;
}): Operation {
  return operation(
    {
      id: 'getOperatorUsage',
      method: 'GET',
      path: '/operator/workspaces/{id}/usage',
      tag: 'Operator',
      summary: 'Retrieve the usage of a workspace',
      description:
        'What is used of each quota. Messages are those that the statistics count, about a second ' +
        'after they were accepted: test mail and mail of the service to its own users are not ' +
        'counted. Content includes that of test mail.',
      scope: 'operator',
      params: WORKSPACE_PATH,
      responses: { 200: { description: 'The usage.', body: Usage } },
      problems: ['not_found'],
    },
    async ({ params }) => {
      const { id } = await workspaceInPath(deps.workspaces, params);
      return { status: 200, body: await deps.workspaceQuotas.usage(id) };
    },
  );
}
