import { publicMembership } from '../../../accounts/people/account.ts';
import type { People } from '../../../accounts/people/people.ts';
import { type Operation, operation } from '../../operation.ts';
import { Workspace, WorkspaceInput } from './schemas.ts';

export function createWorkspace({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'createWorkspace',
      method: 'POST',
      path: '/workspaces',
      tag: 'Account',
      summary: 'Create a workspace',
      description:
        'You become its owner. Only owners of a workspace can create another one. Workspaces ' +
        'that descend from the same workspace share one limit, whichever user created them. Owners ' +
        'of a workspace whose messages the operator limits cannot create one.',
      scope: 'person',
      body: WorkspaceInput,
      examples: { shop: { summary: 'A name', value: { name: 'Second shop' } } },
      responses: { 201: { description: 'The workspace.', body: Workspace } },
      problems: ['insufficient_role', 'workspace_suspended', 'quota_exceeded'],
    },
    async ({ signedIn, body }) => ({
      status: 201,
      body: publicMembership(
        await people.account.createWorkspace(signedIn, body.name),
        signedIn.session,
      ),
    }),
  );
}
