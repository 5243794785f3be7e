import { publicWorkspace } from '../../accounts/workspace.ts';
import { Workspaces } from '../../accounts/workspaces.ts';
import { findWorkspace } from '../choose-workspace.ts';
import type { Command } from '../command.ts';
import { findPersonWithEmail } from '../find-person.ts';
import { withDatabase } from '../with-database.ts';

export const workspacesAddOwner: Command = {
  name: 'workspaces add-owner',
  summary: 'Make a user an owner of a workspace.',
  details:
    'For a workspace created on the command line, or one whose owners have left. If "people list" shows that the address is not verified, ask the user whether the account is theirs.',
  arguments: [
    { name: 'WORKSPACE', description: 'The id (wsp_…) or name.' },
    { name: 'EMAIL', description: 'The email address of the user.' },
  ],
  run: (input) =>
    withDatabase(async (parts) => {
      const [name, email] = input.arguments as [string, string];
      const workspaces = new Workspaces(parts);
      const workspace = await findWorkspace(workspaces, name);
      const owner = await findPersonWithEmail(email, parts);
      await workspaces.addOwner(workspace, owner.id);
      const data = { workspace: publicWorkspace(workspace), owner: owner.email };
      return { data, text: `${owner.email} is now an owner of workspace "${workspace.name}".` };
    }),
};
