import { publicWorkspace, Workspaces } from '../../accounts/workspaces.ts';
import { findWorkspace } from '../choose-workspace.ts';
import type { Command } from '../command.ts';
import { withStorage } from '../with-storage.ts';

export const workspacesResume: Command = {
  name: 'workspaces resume',
  summary: 'Let a suspended workspace send again.',
  details: 'What waits leaves with its next try: at most RETRY_LONGEST_MINUTES from now.',
  arguments: [{ name: 'WORKSPACE', says: 'Its id (wsp_…) or its name.' }],
  run: (given) =>
    withStorage(async (parts) => {
      const workspaces = new Workspaces(parts);
      const found = await findWorkspace(workspaces, given.arguments[0] as string);
      const data = publicWorkspace(await workspaces.resume(found));
      return { data, text: `"${data.name}" (${data.id}) may send.` };
    }),
};
