import { publicWorkspace } from '../../accounts/workspace.ts';
import { Workspaces } from '../../accounts/workspaces.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import { type Command, UsageError } from '../command.ts';
import { withDatabase } from '../with-database.ts';

const NAME_LENGTH_MAX = 100;

export const workspacesCreate: Command = {
  name: 'workspaces create',
  summary: 'Create a workspace: a tenant with its own keys, domains and messages.',
  arguments: [{ name: 'NAME', description: 'The name of the workspace.' }],
  run: (input) => {
    const name = input.arguments[0]?.trim() ?? '';
    if (name === '' || name.length > NAME_LENGTH_MAX || /\p{Cc}/u.test(name)) {
      throw new UsageError(`NAME must have 1 to ${NAME_LENGTH_MAX} printable characters.`);
    }
    return withDatabase(async (parts) => {
      const created = await new Workspaces(parts).createIfNameIsFree(name);
      if (!created) throw new RefusedError('conflict', `Workspace "${name}" already exists.`);
      const data = publicWorkspace(created);
      return { data, text: `Created workspace "${data.name}" (${data.id}).` };
    });
  },
};
