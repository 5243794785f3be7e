import type { People } from '../../../accounts/people/people.ts';
import { publicMember } from '../../../accounts/people/team.ts';
import type { Workspaces } from '../../../accounts/workspaces.ts';
import { closed, LIMIT_DEFAULT, PAGE, page } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { toPage, uuidCursor } from '../../validation/cursor.ts';
import { Member } from '../members/schemas.ts';
import { WORKSPACE_PATH, workspaceInPath } from './schemas.ts';

const LIST = '/operator/members';

export function listOperatorMembers(deps: { workspaces: Workspaces; people: People }): Operation {
  return operation(
    {
      id: 'listOperatorMembers',
      method: 'GET',
      path: '/operator/workspaces/{id}/members',
      tag: 'Operator',
      summary: 'List the members of a workspace',
      description: 'Newest accounts first.',
      scope: 'operator',
      params: WORKSPACE_PATH,
      query: closed(PAGE),
      queryParsers: [(query) => uuidCursor(LIST, query)],
      responses: { 200: { description: 'A page of members.', body: page(Member, 'MemberPage') } },
      problems: ['not_found'],
    },
    async ({ params, query }) => {
      const { id } = await workspaceInPath(deps.workspaces, params);
      const limit = query.limit ?? LIMIT_DEFAULT;
      const before = uuidCursor(LIST, query);
      const found = await deps.people.team.list(id, {
        limit: limit + 1,
        ...(before === undefined ? {} : { before }),
      });
      const { rows, next_cursor } = toPage(LIST, found, limit, (member) => [member.personId]);
      return { status: 200, body: { data: rows.map(publicMember), next_cursor } };
    },
  );
}
