import { publicWorkspace, Workspaces } from '../../accounts/workspaces.ts';
import { columns } from '../columns.ts';
import type { Command } from '../command.ts';
import { withStorage } from '../with-storage.ts';

export const workspacesList: Command = {
  name: 'workspaces list',
  summary: 'List all workspaces; the first is what other commands mean unless told.',
  run: () =>
    withStorage(async (parts) => {
      const data = (await new Workspaces(parts).list()).map(publicWorkspace);
      const rows = data.map(({ id, name, created_at, suspended }) => [
        id,
        created_at,
        suspended ? 'suspended' : 'active',
        name,
        suspended?.reason ?? '',
      ]);
      return {
        data: { data, next_cursor: null },
        text:
          rows.length > 0
            ? columns([['ID', 'CREATED', 'STATE', 'NAME', ''], ...rows])
            : 'There is none yet.',
      };
    }),
};
