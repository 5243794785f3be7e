import type { Workspace } from '../accounts/workspace.ts';
import { Workspaces } from '../accounts/workspaces.ts';
import { RefusedError } from '../lib/refused-error.ts';
import type { CommandInput } from './command.ts';
import type { DatabaseContext } from './command-context.ts';
import { noteWorkspace } from './running-command.ts';

/** The option shared by most commands. */
export const WORKSPACE_OPTION = {
  workspace: { value: 'NAME|ID', description: 'Workspace name or id (default: the first one).' },
} as const;

const FIRST_NAME = 'Default';

/** The workspace that a command applies to. The first one is created when there is none. */
export async function chooseWorkspace(
  input: CommandInput,
  parts: DatabaseContext,
): Promise<Workspace> {
  const workspaces = new Workspaces(parts);
  const wanted = input.option('workspace');
  if (wanted === undefined) {
    const first =
      (await workspaces.first()) ??
      (await workspaces.createFirst(FIRST_NAME)) ??
      ((await workspaces.first()) as Workspace);
    await noteWorkspace(first.id);
    return first;
  }
  return findWorkspace(workspaces, wanted);
}

/** Finds a workspace by id or name. */
export async function findWorkspace(workspaces: Workspaces, wanted: string): Promise<Workspace> {
  const found = await workspaces.find(wanted);
  if (found) {
    await noteWorkspace(found.id);
    return found;
  }
  throw new RefusedError(
    'not_found',
    `Workspace "${wanted}" not found, or the name is not unique. Run "postrider workspaces list" to see the ids.`,
  );
}
