import { type QueryClient, useQuery } from '@tanstack/react-query';
import { useRef } from 'react';
import { api, type Schema, unwrap } from '../api/client.ts';
import { sessionEnded } from '../api/session-signals.ts';
import { canLeave } from './leave-guards.ts';
import { currentSelection, selectWorkspace, useSelection } from './selection.ts';

export type Workspace = Schema<'Me'>['workspaces'][number] & {
  /** It is selected, but the user is no longer a member. */
  removed?: true;
};
export type Me = Omit<Schema<'Me'>, 'workspaces'> & { workspaces: Workspace[] };

export const ME_QUERY_KEY = ['me'] as const;

export function useMeQuery() {
  return useQuery({
    queryKey: ME_QUERY_KEY,
    queryFn: async ({ client }): Promise<Me> =>
      keepCurrentWorkspace(client.getQueryData(ME_QUERY_KEY), await unwrap(api.GET('/api/v1/me'))),
    retry: false,
    staleTime: 60_000,
  });
}

/**
 * Keeps the selected workspace, marked as removed, when the user loses access to it: switching away
 * would discard unsaved text on the open page.
 */
function keepCurrentWorkspace(before: Me | undefined, now: Me): Me {
  const { workspaceId } = currentSelection();
  const isSelected = ({ id }: Workspace) => id === workspaceId;
  const current = before?.id === now.id ? before.workspaces.find(isSelected) : undefined;
  if (!current || now.workspaces.some(isSelected)) return now;
  return { ...now, workspaces: [...now.workspaces, { ...current, rights: [], removed: true }] };
}

/** The signed-in user. Only for components inside the layout, which waits for it to load. */
export function useMe(): Me {
  const { data } = useMeQuery();
  if (!data) throw new Error('no user is signed in');
  return data;
}

export function useWorkspace(): Workspace {
  const { workspaceId } = useSelection();
  const { workspaces } = useMe();
  const workspace = workspaces.find(({ id }) => id === workspaceId) ?? workspaces[0];
  if (!workspace) throw new Error('the user has no workspace');
  return workspace;
}

/** Whether the user's role has a permission. The API enforces it; the UI only hides controls. */
export function useCan(): (permission: string) => boolean {
  const { rights } = useWorkspace();
  return (permission) => (rights as readonly string[]).includes(permission);
}

/**
 * Whether to show a requested form: only to users with the permission. An open form stays open when
 * the permission is revoked, so that nothing typed is lost; submitting it shows the error.
 */
export function useFormOpen(requested: boolean, permission: string): boolean {
  const allowed = useCan()(permission);
  const open = useRef(false);
  open.current = requested && (open.current || allowed);
  return open.current;
}

/** Stores the signed-in user and selects one of their workspaces. */
export function completeSignIn(queries: QueryClient, me: Me): void {
  queries.setQueryData(ME_QUERY_KEY, keepCurrentWorkspace(queries.getQueryData(ME_QUERY_KEY), me));
  sessionEnded.set(false);
  ensureWorkspace(queries.getQueryData<Me>(ME_QUERY_KEY) ?? me);
}

/** Switches away from a workspace the user is no longer a member of. */
export function leaveWorkspace(queries: QueryClient): void {
  const me = queries.getQueryData<Me>(ME_QUERY_KEY);
  if (!me) return;
  const { workspaceId } = currentSelection();
  const left = { ...me, workspaces: me.workspaces.filter(({ id }) => id !== workspaceId) };
  queries.setQueryData(ME_QUERY_KEY, left);
  ensureWorkspace(left);
}

export function ensureWorkspace(me: Me): void {
  const { workspaceId } = currentSelection();
  if (me.workspaces.some(({ id }) => id === workspaceId)) return;
  const usable = me.workspaces.filter((one) => !one.single_sign_on_required);
  // The oldest workspace, as in the CLI: it has the key created at first startup. IDs sort by time.
  const [first] = (usable.length > 0 ? usable : me.workspaces).map(({ id }) => id).sort();
  if (first !== undefined) selectWorkspace(first);
}

/** Returns false if the user chose to stay because of unsaved changes. */
export async function switchWorkspace(workspaceId: string): Promise<boolean> {
  if (!(await canLeave())) return false;
  selectWorkspace(workspaceId);
  return true;
}
