import { publicWorkspace } from '../../accounts/workspace.ts';
import { Workspaces } from '../../accounts/workspaces.ts';
import { findWorkspace } from '../choose-workspace.ts';
import { type Command, UsageError } from '../command.ts';
import { withDatabase } from '../with-database.ts';

export const workspacesDelete: Command = {
  name: 'workspaces delete',
  summary: 'Delete a workspace and all its data.',
  details:
    'The data is kept for DELETION_DAYS. Until then live mail is held, and "workspaces restore" or an owner can restore the workspace. Then a running server deletes everything in the background, including accounts that are in no other workspace; "workspaces deletions" shows the progress. The last workspace cannot be deleted.',
  arguments: [{ name: 'WORKSPACE', description: 'The id (wsp_…) or name.' }],
  options: {
    confirm: { value: 'NAME', description: 'The name of the workspace.', required: true },
    now: { description: 'Start the deletion at once. The workspace cannot be restored.' },
  },
  run: (input) =>
    withDatabase(async (parts) => {
      const { clock, config } = parts;
      const workspaces = new Workspaces(parts);
      const found = await findWorkspace(workspaces, input.arguments[0] as string);
      if (input.option('confirm') !== found.name) {
        throw new UsageError(`--confirm must be the name of the workspace: "${found.name}".`);
      }
      const keptMs = input.flag('now') ? 0 : config.deletionMs;
      const deleted = await workspaces.scheduleDeletion(found, clock.now() + keptMs);
      const data = publicWorkspace(deleted);
      const when =
        keptMs === 0 ? 'is being deleted' : `will be deleted at ${data.deletion?.delete_at}`;
      return { data, text: `Workspace "${data.name}" (${data.id}) ${when}.` };
    }),
};
