import { publicWorkspace } from '../../accounts/workspace.ts';
import { Workspaces } from '../../accounts/workspaces.ts';
import type { Command } from '../command.ts';
import { listTime, paintState, table } from '../terminal.ts';
import { withDatabase } from '../with-database.ts';

export const workspacesList: Command = {
  name: 'workspaces list',
  summary: 'List all workspaces; the first is the default of other commands.',
  run: () =>
    withDatabase(async (parts) => {
      const data = (await new Workspaces(parts).list()).map(publicWorkspace);
      const rows = data.map(({ id, name, created_at, suspended, deletion }) => [
        id,
        listTime(created_at),
        paintState(deletion ? 'deleting' : suspended ? 'suspended' : 'active'),
        name,
        deletion ? `to be deleted at ${deletion.delete_at}` : (suspended?.reason ?? ''),
      ]);
      return {
        data: { data, next_cursor: null },
        text:
          rows.length > 0 ? table(['ID', 'CREATED', 'STATE', 'NAME', ''], rows) : 'No workspaces.',
      };
    }),
};
