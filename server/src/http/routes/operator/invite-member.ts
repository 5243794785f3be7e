import type { People } from '../../../accounts/people/people.ts';
import type { Workspaces } from '../../../accounts/workspaces.ts';
import type { Pool } from '../../../db/connections/pool.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import { type Operation, operation } from '../../operation.ts';
import { sentInvitation } from '../invitations/invitation-delivery.ts';
import { CreatedInvitation, CreateInvitation } from '../invitations/schemas.ts';
import { WORKSPACE_PATH, workspaceInPath } from './schemas.ts';

export function inviteOperatorMember(deps: {
  workspaces: Workspaces;
  people: People;
  pool: Pool;
  clock: Clock;
}): Operation {
  return operation(
    {
      id: 'inviteOperatorMember',
      method: 'POST',
      path: '/operator/workspaces/{id}/invitations',
      tag: 'Operator',
      summary: 'Invite a member to a workspace',
      description:
        'The link is sent by email from a domain of the workspace; while no domain can send, as in ' +
        'a new workspace, it is included in the response for you to pass on. It works once, expires ' +
        'after seven days, and replaces an earlier invitation to the same address.',
      scope: 'operator',
      params: WORKSPACE_PATH,
      body: CreateInvitation,
      examples: {
        owner: { summary: 'The first owner', value: { email: 'jane@shop.example', role: 'owner' } },
      },
      responses: { 201: { description: 'The invitation.', body: CreatedInvitation } },
      problems: ['not_found', 'conflict'],
    },
    async ({ params, body }) => {
      const { id } = await workspaceInPath(deps.workspaces, params);
      const sent = await deps.people.invitations.createAsOperator(id, body);
      return { status: 201, body: await sentInvitation(deps, sent) };
    },
  );
}
