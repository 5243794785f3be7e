import { publicWorkspace } from '../../../accounts/workspace.ts';
import type { Workspaces } from '../../../accounts/workspaces.ts';
import { closed, LIMIT_DEFAULT, PAGE, page } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { toPage, uuidCursor } from '../../validation/cursor.ts';
import { OperatorWorkspace } from './schemas.ts';

const LIST = '/operator/workspaces';

export function listOperatorWorkspaces(deps: { workspaces: Workspaces }): Operation {
  return operation(
    {
      id: 'listOperatorWorkspaces',
      method: 'GET',
      path: '/operator/workspaces',
      tag: 'Operator',
      summary: 'List all workspaces',
      description: 'Newest first, including those that are being deleted.',
      scope: 'operator',
      query: closed(PAGE),
      queryParsers: [(query) => uuidCursor(LIST, query)],
      responses: {
        200: {
          description: 'A page of workspaces.',
          body: page(OperatorWorkspace, 'OperatorWorkspacePage'),
        },
      },
    },
    async ({ query }) => {
      const limit = query.limit ?? LIMIT_DEFAULT;
      const before = uuidCursor(LIST, query);
      const found = await deps.workspaces.page({
        limit: limit + 1,
        ...(before === undefined ? {} : { before }),
      });
      const { rows, next_cursor } = toPage(LIST, found, limit, ({ id }) => [id]);
      return { status: 200, body: { data: rows.map(publicWorkspace), next_cursor } };
    },
  );
}
