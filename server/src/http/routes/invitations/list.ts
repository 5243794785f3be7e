import type { People } from '../../../accounts/people/people.ts';
import type { Pool } from '../../../db/connections/pool.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import { closed, LIMIT_DEFAULT, PAGE, page } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { toPage, uuidCursor } from '../../validation/cursor.ts';
import { invitationsWithDelivery } from './invitation-delivery.ts';
import { Invitation } from './schemas.ts';

const LIST = '/invitations';

export function listInvitations(deps: { people: People; pool: Pool; clock: Clock }): Operation {
  return operation(
    {
      id: 'listInvitations',
      method: 'GET',
      path: '/invitations',
      tag: 'Team',
      summary: 'List invitations',
      description: 'Newest first, including accepted, revoked and expired invitations.',
      scope: 'read:members',
      query: closed(PAGE),
      queryParsers: [(query) => uuidCursor(LIST, query)],
      responses: {
        200: { description: 'A page of invitations.', body: page(Invitation, 'InvitationPage') },
      },
    },
    async ({ caller, query }) => {
      const limit = query.limit ?? LIMIT_DEFAULT;
      const before = uuidCursor(LIST, query);
      const found = await deps.people.invitations.list(caller.workspaceId, {
        limit: limit + 1,
        ...(before === undefined ? {} : { before }),
      });
      const { rows, next_cursor } = toPage(LIST, found, limit, (one) => [one.id]);
      const data = await invitationsWithDelivery(deps, caller.workspaceId, rows);
      return { status: 200, body: { data, next_cursor } };
    },
  );
}
