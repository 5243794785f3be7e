import { publicWorkspace, Workspaces } from '../../accounts/workspaces.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import { type Command, UsageError } from '../command.ts';
import { withStorage } from '../with-storage.ts';

const NAME_LENGTH_MAX = 100;

export const workspacesCreate: Command = {
  name: 'workspaces create',
  summary: 'Make a workspace: a tenant with keys, domains and messages of its own.',
  arguments: [{ name: 'NAME', says: 'What people call it.' }],
  run: (given) => {
    const name = given.arguments[0]?.trim() ?? '';
    if (name === '' || name.length > NAME_LENGTH_MAX || /\p{Cc}/u.test(name)) {
      throw new UsageError(`NAME takes 1 to ${NAME_LENGTH_MAX} visible characters.`);
    }
    return withStorage(async (parts) => {
      const made = await new Workspaces(parts).createUnlessNamed(name);
      if (!made) throw new RefusedError('conflict', `There is a workspace "${name}" already.`);
      const data = publicWorkspace(made);
      return { data, text: `Made the workspace "${data.name}" (${data.id}).` };
    });
  },
};
