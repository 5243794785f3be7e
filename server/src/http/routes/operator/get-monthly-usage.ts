import { Type } from 'typebox';
import type { Workspaces } from '../../../accounts/workspaces.ts';
import type { WorkspaceQuotas as Quotas } from '../../../quotas/workspace-quotas.ts';
import { type Operation, operation } from '../../operation.ts';
import { notFound } from '../../validation/path-id.ts';
import { MonthlyUsage, parseMonth } from './quota-schemas.ts';
import { workspaceInPath } from './schemas.ts';

const PATH = Type.Object({
  id: Type.String({
    description: 'The id of the workspace.',
    examples: ['wsp_01kc8x3f7ye6qvj2m4n5p6q7r8'],
  }),
  month: Type.String({ description: 'A calendar month in UTC.', examples: ['2026-11'] }),
});

export function getOperatorMonthlyUsage(deps: {
  workspaces: Workspaces;
  workspaceQuotas: Quotas;
}): Operation {
  return operation(
    {
      id: 'getOperatorMonthlyUsage',
      method: 'GET',
      path: '/operator/workspaces/{id}/usage/{month}',
      tag: 'Operator',
      summary: 'Retrieve the usage of a workspace in a month',
      description: 'For invoices. Also for past months, as long as the workspace exists.',
      scope: 'operator',
      params: PATH,
      responses: { 200: { description: 'The usage in the month.', body: MonthlyUsage } },
      problems: ['not_found'],
    },
    async ({ params }) => {
      const { id } = await workspaceInPath(deps.workspaces, params);
      const monthMs = parseMonth((params as { month: string }).month);
      if (monthMs === undefined) throw notFound('month');
      return { status: 200, body: await deps.workspaceQuotas.monthlyUsage(id, monthMs) };
    },
  );
}
