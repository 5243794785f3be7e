import { Type } from 'typebox';
import { publicWorkspace } from '../../../accounts/workspace.ts';
import type { Workspaces } from '../../../accounts/workspaces.ts';
import type { WorkspaceQuotas } from '../../../quotas/workspace-quotas.ts';
import { closed, LIMIT_DEFAULT, PAGE, page, searchQuery } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { toPage, uuidCursor } from '../../validation/cursor.ts';
import { ListedWorkspace } from './schemas.ts';

const LIST = '/operator/workspaces';

export function listOperatorWorkspaces(deps: {
  workspaces: Workspaces;
  workspaceQuotas: WorkspaceQuotas;
}): Operation {
  return operation(
    {
      id: 'listOperatorWorkspaces',
      method: 'GET',
      path: '/operator/workspaces',
      tag: 'Operator',
      summary: 'List all workspaces',
      description: 'Newest first, including those that are being deleted.',
      scope: 'operator',
      query: closed({
        ...PAGE,
        q: searchQuery('Search text for the name.'),
        suspended: Type.Optional(
          Type.Boolean({ description: '`true`: only workspaces that are suspended.' }),
        ),
      }),
      queryParsers: [(query) => uuidCursor(LIST, query)],
      responses: {
        200: {
          description: 'A page of workspaces.',
          body: page(ListedWorkspace, 'ListedWorkspacePage'),
        },
      },
    },
    async ({ query }) => {
      const limit = query.limit ?? LIMIT_DEFAULT;
      const before = uuidCursor(LIST, query);
      const found = await deps.workspaces.page({
        limit: limit + 1,
        suspended: query.suspended ?? false,
        ...(before === undefined ? {} : { before }),
        ...(query.q === undefined ? {} : { text: query.q }),
      });
      const { rows, next_cursor } = toPage(LIST, found, limit, ({ id }) => [id]);
      const summaries = await deps.workspaceQuotas.summaries(rows.map(({ id }) => id));
      const data = rows.map((workspace) => {
        const { brake = null, messages = 0 } = summaries.get(workspace.id) ?? {};
        return { ...publicWorkspace(workspace), brake, messages_this_month: messages };
      });
      return { status: 200, body: { data, next_cursor } };
    },
  );
}
