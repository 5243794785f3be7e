import { publicWorkspace } from '../../accounts/workspace.ts';
import { Workspaces } from '../../accounts/workspaces.ts';
import { findWorkspace } from '../choose-workspace.ts';
import type { Command } from '../command.ts';
import { withDatabase } from '../with-database.ts';

export const workspacesRestore: Command = {
  name: 'workspaces restore',
  summary: 'Restore a workspace whose deletion has not started.',
  details: 'Held mail is sent with its next attempt, unless it has expired.',
  arguments: [{ name: 'WORKSPACE', description: 'The id (wsp_…) or name.' }],
  run: (input) =>
    withDatabase(async (parts) => {
      const workspaces = new Workspaces(parts);
      const found = await findWorkspace(workspaces, input.arguments[0] as string);
      const data = publicWorkspace(await workspaces.restore(found));
      return { data, text: `Restored workspace "${data.name}" (${data.id}).` };
    }),
};
