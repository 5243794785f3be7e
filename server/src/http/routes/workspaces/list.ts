import { publicMembership } from '../../../accounts/people/account.ts';
import type { People } from '../../../accounts/people/people.ts';
import { closed, LIMIT_DEFAULT, PAGE, page } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { toPage, uuidCursor } from '../../validation/cursor.ts';
import { Workspace } from './schemas.ts';

const LIST = '/workspaces';

export function listWorkspaces({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'listWorkspaces',
      method: 'GET',
      path: '/workspaces',
      tag: 'Account',
      summary: 'List your workspaces',
      description: 'Newest first.',
      scope: 'person',
      limitedSessions: true,
      query: closed(PAGE),
      queryParsers: [(query) => uuidCursor(LIST, query)],
      responses: {
        200: { description: 'A page of workspaces.', body: page(Workspace, 'WorkspacePage') },
      },
    },
    async ({ signedIn, query }) => {
      const limit = query.limit ?? LIMIT_DEFAULT;
      const before = uuidCursor(LIST, query);
      const found = await people.account.workspaces(signedIn, {
        limit: limit + 1,
        ...(before === undefined ? {} : { before }),
      });
      const { rows, next_cursor } = toPage(LIST, found, limit, (one) => [one.workspaceId]);
      const data = rows.map((one) => publicMembership(one, signedIn.session));
      return { status: 200, body: { data, next_cursor } };
    },
  );
}
