import { publicWorkspace } from '../../../accounts/workspace.ts';
import type { Workspaces } from '../../../accounts/workspaces.ts';
import { type Operation, operation } from '../../operation.ts';
import { OperatorWorkspace, OperatorWorkspaceInput } from './schemas.ts';

export function createOperatorWorkspace(deps: { workspaces: Workspaces }): Operation {
  return operation(
    {
      id: 'createOperatorWorkspace',
      method: 'POST',
      path: '/operator/workspaces',
      tag: 'Operator',
      summary: 'Create a workspace',
      description:
        'It has no members and no API keys yet. Names need not be unique; send an ' +
        '`Idempotency-Key` to create a workspace only once.',
      scope: 'operator',
      body: OperatorWorkspaceInput,
      examples: { shop: { summary: 'A name', value: { name: 'Shop' } } },
      responses: { 201: { description: 'The workspace.', body: OperatorWorkspace } },
    },
    async ({ body }) => ({
      status: 201,
      body: publicWorkspace(await deps.workspaces.create(body.name)),
    }),
  );
}
