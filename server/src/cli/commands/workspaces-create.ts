import { publicWorkspace } from '../../accounts/workspace.ts';
import { Workspaces } from '../../accounts/workspaces.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import { type Command, UsageError } from '../command.ts';
import { findPersonWithEmail } from '../find-person.ts';
import { withDatabase } from '../with-database.ts';

const NAME_LENGTH_MAX = 100;

export const workspacesCreate: Command = {
  name: 'workspaces create',
  summary: 'Create a workspace: a tenant with its own keys, domains and messages.',
  details:
    'Without an owner, only the command line can manage it until "workspaces add-owner" names one.',
  arguments: [{ name: 'NAME', description: 'The name of the workspace.' }],
  options: {
    owner: { value: 'EMAIL', description: 'A user who becomes its owner.' },
  },
  run: (input) => {
    const name = input.arguments[0]?.trim() ?? '';
    if (name === '' || name.length > NAME_LENGTH_MAX || /\p{Cc}/u.test(name)) {
      throw new UsageError(`NAME must have 1 to ${NAME_LENGTH_MAX} printable characters.`);
    }
    return withDatabase(
      async (parts) => {
        const email = input.option('owner');
        const owner = email === undefined ? undefined : await findPersonWithEmail(email, parts);
        const created = await new Workspaces(parts).createIfNameIsFree(name, owner?.id);
        if (!created) throw new RefusedError('conflict', `Workspace "${name}" already exists.`);
        const data = publicWorkspace(created);
        const text = `Created workspace "${data.name}" (${data.id})${owner ? `, owned by ${owner.email}` : ''}.`;
        return { data, text };
      },
      { create: true },
    );
  },
};
