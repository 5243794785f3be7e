import { Type } from 'typebox';
import type { People } from '../../../accounts/people/people.ts';
import type { Workspaces } from '../../../accounts/workspaces.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { workspaceInPath } from './schemas.ts';

const PATH = Type.Object({
  id: Type.String({
    description: 'The id of the workspace.',
    examples: ['wsp_01kc8x3f7ye6qvj2m4n5p6q7r8'],
  }),
  member: Type.String({
    description: 'The id of the member.',
    examples: ['usr_01kc8wzq4he2x9v7n5m3k1j0h8'],
  }),
});

export function removeOperatorMember(deps: { workspaces: Workspaces; people: People }): Operation {
  return operation(
    {
      id: 'removeOperatorMember',
      method: 'DELETE',
      path: '/operator/workspaces/{id}/members/{member}',
      tag: 'Operator',
      summary: 'Remove a member from a workspace',
      description:
        'Takes effect immediately on every node. Invitations sent by the member are revoked; API ' +
        'keys created by the member keep working until they are revoked. To remove the last owner, ' +
        'add another one first.',
      scope: 'operator',
      params: PATH,
      responses: { 204: { description: 'The member was removed.' } },
      problems: ['not_found', 'last_owner'],
    },
    async ({ params }) => {
      const { id } = await workspaceInPath(deps.workspaces, params);
      const member = decodePathId('usr', (params as { member: string }).member, 'member');
      await deps.people.team.removeAsOperator(id, member);
      return { status: 204 };
    },
  );
}
