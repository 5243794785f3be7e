import { publicWorkspace } from '../../accounts/workspace.ts';
import { Workspaces } from '../../accounts/workspaces.ts';
import { findWorkspace } from '../choose-workspace.ts';
import { type Command, UsageError } from '../command.ts';
import { withDatabase } from '../with-database.ts';

const REASON_LENGTH_MAX = 500;

export const workspacesSuspend: Command = {
  name: 'workspaces suspend',
  summary: 'Suspend live mail of a workspace, on every node within a second.',
  details:
    'Sends are rejected with 403 workspace_suspended, and queued mail stays deferred until "workspaces resume" or until it expires. Transactions in flight are completed. Test mode and all non-sending operations still work, and members see the reason in the dashboard. The owner of a suspended workspace cannot create another one.',
  arguments: [{ name: 'WORKSPACE', description: 'The id (wsp_…) or name.' }],
  options: {
    reason: { value: 'TEXT', description: 'The reason shown to its members.', required: true },
  },
  run: (input) => {
    const reason = input.option('reason')?.trim() ?? '';
    if (reason === '' || reason.length > REASON_LENGTH_MAX || /\p{Cc}/u.test(reason)) {
      throw new UsageError(`--reason must have 1 to ${REASON_LENGTH_MAX} printable characters.`);
    }
    return withDatabase(async (parts) => {
      const workspaces = new Workspaces(parts);
      const found = await findWorkspace(workspaces, input.arguments[0] as string);
      const data = publicWorkspace(await workspaces.suspend(found, reason));
      return { data, text: `Suspended live mail of workspace "${data.name}" (${data.id}).` };
    });
  },
};
