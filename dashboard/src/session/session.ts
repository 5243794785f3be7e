import { type QueryClient, useQuery } from '@tanstack/react-query';
import { useRef } from 'react';
import { api, unwrap, type Schema } from '../api/client.ts';
import { sessionEnded } from '../api/session-signals.ts';
import { canLeave } from './leave-guards.ts';
import { currentSelection, selectWorkspace, useSelection } from './selection.ts';

export type Workspace = Schema<'Me'>['workspaces'][number] & {
  /** The person stands in it and is no member any more. */
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
 * Who loses the workspace in which they stand is told so, and stays on the page: what they write
 * there would be gone with it.
 */
function keepCurrentWorkspace(before: Me | undefined, now: Me): Me {
  const { workspaceId } = currentSelection();
  const isHere = ({ id }: Workspace) => id === workspaceId;
  const here = before?.id === now.id ? before.workspaces.find(isHere) : undefined;
  if (!here || now.workspaces.some(isHere)) return now;
  return { ...now, workspaces: [...now.workspaces, { ...here, rights: [], lost: true }] };
}

/** The person who is signed in. Only inside the frame, which waits for it. */
export function useMe(): Me {
  const { data } = useMeQuery();
  if (!data) throw new Error('nobody is signed in');
  return data;
}

export function useWorkspace(): Workspace {
  const { workspaceId } = useSelection();
  const { workspaces } = useMe();
  const workspace = workspaces.find(({ id }) => id === workspaceId) ?? workspaces[0];
  if (!workspace) throw new Error('the person has no workspace');
  return workspace;
}

/** Whether the person's role may do this here. The API decides; the screen only hides what is refused. */
export function useCan(): (permission: string) => boolean {
  const { rights } = useWorkspace();
  return (right) => (rights as readonly string[]).includes(right);
}

/**
 * Whether a form is shown that was asked for: to those who may fill it in. One that is open stays when
 * the right is taken away: sending it tells so, and the words are still there.
 */
export function useFormOpen(requested: boolean, permission: string): boolean {
  const allowed = useCan()(permission);
  const open = useRef(false);
  open.current = requested && (open.current || allowed);
  return open.current;
}

/** After a sign-in by whatever way: keep who it is, and stand in a workspace that is theirs. */
export function completeSignIn(queries: QueryClient, me: Me): void {
  queries.setQueryData(ME_QUERY_KEY, keepCurrentWorkspace(queries.getQueryData(ME_QUERY_KEY), me));
  sessionEnded.set(false);
  ensureWorkspace(queries.getQueryData<Me>(ME_QUERY_KEY) ?? me);
}

/** Away from a workspace that is the person's no more. */
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
  // The oldest, as on the command line: the one that the first start made a key for. Ids are in order of time.
  const [first] = me.workspaces.map(({ id }) => id).sort();
  if (first !== undefined) selectWorkspace(first);
}

/** By the person's own wish. False: they have something to save first, and stay. */
export async function switchWorkspace(workspaceId: string): Promise<boolean> {
  if (!(await canLeave())) return false;
  selectWorkspace(workspaceId);
  return true;
}
