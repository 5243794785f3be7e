import { publicWorkspace, Workspaces } from '../../accounts/workspaces.ts';
import { findWorkspace } from '../choose-workspace.ts';
import { type Command, UsageError } from '../command.ts';
import { withStorage } from '../with-storage.ts';

const REASON_LENGTH_MAX = 500;

export const workspacesSuspend: Command = {
  name: 'workspaces suspend',
  summary: 'Stop the live mail of a workspace, on every node within a second.',
  details:
    'Sends are refused with 403 workspace_suspended, and what waits stays deferred until "workspaces resume" or until its time is over. What a receiver is being handed at the moment still arrives. Test mode, reading and everything else go on, and its people see the reason in the dashboard. Who owns a suspended workspace cannot make another one.',
  arguments: [{ name: 'WORKSPACE', says: 'Its id (wsp_…) or its name.' }],
  options: { reason: { takes: 'TEXT', says: 'What its people are told.', required: true } },
  run: (given) => {
    const reason = given.option('reason')?.trim() ?? '';
    if (reason === '' || reason.length > REASON_LENGTH_MAX || /\p{Cc}/u.test(reason)) {
      throw new UsageError(`--reason takes 1 to ${REASON_LENGTH_MAX} visible characters.`);
    }
    return withStorage(async (parts) => {
      const workspaces = new Workspaces(parts);
      const found = await findWorkspace(workspaces, given.arguments[0] as string);
      const data = publicWorkspace(await workspaces.suspend(found, reason));
      return { data, text: `The live mail of "${data.name}" (${data.id}) is suspended.` };
    });
  },
};
