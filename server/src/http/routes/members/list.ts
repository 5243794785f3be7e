import type { People } from '../../../accounts/people/people.ts';
import { publicMember } from '../../../accounts/people/team.ts';
import { closed, LIMIT_DEFAULT, PAGE, page, searchQuery } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { toPage, uuidCursor } from '../../validation/cursor.ts';
import { Member } from './schemas.ts';

const LIST = '/members';

export function listMembers({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'listMembers',
      method: 'GET',
      path: '/members',
      tag: 'Team',
      summary: 'List members',
      description: 'Newest accounts first.',
      scope: 'read:members',
      query: closed({ ...PAGE, q: searchQuery('Search text for the name or the address.') }),
      queryParsers: [(query) => uuidCursor(LIST, query)],
      responses: { 200: { description: 'A page of members.', body: page(Member, 'MemberPage') } },
    },
    async ({ caller, query }) => {
      const limit = query.limit ?? LIMIT_DEFAULT;
      const before = uuidCursor(LIST, query);
      const found = await people.team.list(caller.workspaceId, {
        limit: limit + 1,
        ...(before === undefined ? {} : { before }),
        ...(query.q === undefined ? {} : { text: query.q }),
      });
      const { rows, next_cursor } = toPage(LIST, found, limit, (member) => [member.personId]);
      return { status: 200, body: { data: rows.map(publicMember), next_cursor } };
    },
  );
}
