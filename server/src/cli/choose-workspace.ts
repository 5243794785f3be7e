import { type Workspace, Workspaces } from '../accounts/workspaces.ts';
import { RefusedError } from '../lib/refused-error.ts';
import type { Given } from './command.ts';
import type { OpenParts } from './house.ts';

/** The option that most commands share. */
export const WORKSPACE_OPTION = {
  workspace: { takes: 'NAME|ID', says: 'The workspace; the first one when absent.' },
} as const;

const FIRST_NAME = 'Default';

/** The workspace that a command means. When there is none at all, the first is made. */
export async function chooseWorkspace(given: Given, parts: OpenParts): Promise<Workspace> {
  const workspaces = new Workspaces(parts);
  const wanted = given.option('workspace');
  if (wanted === undefined) {
    return (
      (await workspaces.first()) ??
      (await workspaces.createFirst(FIRST_NAME)) ??
      ((await workspaces.first()) as Workspace)
    );
  }
  return findWorkspace(workspaces, wanted);
}

/** By id or name. */
export async function findWorkspace(workspaces: Workspaces, wanted: string): Promise<Workspace> {
  const found = await workspaces.find(wanted);
  if (found) return found;
  throw new RefusedError(
    'not_found',
    `There is no workspace "${wanted}", or several have this name: "postrider workspaces list" shows their ids.`,
  );
}
