import type { People } from '../../../accounts/people/people.ts';
import { publicMember } from '../../../accounts/people/team.ts';
import type { Workspaces } from '../../../accounts/workspaces.ts';
import { type Operation, operation } from '../../operation.ts';
import { Member } from '../members/schemas.ts';
import { AddMember, WORKSPACE_PATH, workspaceInPath } from './schemas.ts';

export function addOperatorMember(deps: { workspaces: Workspaces; people: People }): Operation {
  return operation(
    {
      id: 'addOperatorMember',
      method: 'POST',
      path: '/operator/workspaces/{id}/members',
      tag: 'Operator',
      summary: 'Add a member to a workspace',
      description:
        'The address must have an account on this server, and be verified; invite other addresses. ' +
        'Changes the role of an address that is already a member.',
      scope: 'operator',
      params: WORKSPACE_PATH,
      body: AddMember,
      examples: {
        owner: { summary: 'An owner', value: { email: 'jane@shop.example', role: 'owner' } },
      },
      responses: { 200: { description: 'The member.', body: Member } },
      problems: ['not_found', 'conflict', 'email_unverified', 'last_owner'],
    },
    async ({ params, body }) => {
      const { id } = await workspaceInPath(deps.workspaces, params);
      const member = await deps.people.team.addAsOperator(id, body.email, body.role);
      return { status: 200, body: publicMember(member) };
    },
  );
}
