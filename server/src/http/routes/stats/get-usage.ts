import type { WorkspaceQuotas as Quotas } from '../../../quotas/workspace-quotas.ts';
import { type Operation, operation } from '../../operation.ts';
import { Usage } from '../operator/quota-schemas.ts';

export function getUsage(deps: { workspaceQuotas: Quotas }): Operation {
  return operation(
    {
      id: 'getUsage',
      method: 'GET',
      path: '/usage',
      tag: 'Service',
      summary: 'Retrieve usage and quotas',
      description:
        'What the workspace uses of what the operator allows it. Messages are live messages, as the ' +
        'statistics count them: usually about a second after they were accepted.',
      scope: 'read:messages',
      responses: { 200: { description: 'The usage.', body: Usage } },
    },
    async ({ caller }) => ({
      status: 200,
      body: await deps.workspaceQuotas.usage(caller.workspaceId),
    }),
  );
}
