import { publicWorkspace } from '../../accounts/workspace.ts';
import { Workspaces } from '../../accounts/workspaces.ts';
import { findWorkspace } from '../choose-workspace.ts';
import type { Command } from '../command.ts';
import { withDatabase } from '../with-database.ts';

export const workspacesResume: Command = {
  name: 'workspaces resume',
  summary: 'Resume sending for a suspended workspace.',
  details: 'Queued mail is sent with its next attempt, within RETRY_LONGEST_MINUTES.',
  arguments: [{ name: 'WORKSPACE', description: 'The id (wsp_…) or name.' }],
  run: (input) =>
    withDatabase(async (parts) => {
      const workspaces = new Workspaces(parts);
      const found = await findWorkspace(workspaces, input.arguments[0] as string);
      const data = publicWorkspace(await workspaces.resume(found));
      return { data, text: `Resumed workspace "${data.name}" (${data.id}).` };
    }),
};
