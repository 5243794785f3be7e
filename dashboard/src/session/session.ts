import { type QueryClient, useQuery } from '@tanstack/react-query';
import { api, ask, type Schema } from '../api/client.ts';
import { sessionEnded } from '../api/session-ended.ts';
import { mayLeave } from './leaving.ts';
import { currentPlace, goToWorkspace, usePlace } from './place.ts';

export type Me = Schema<'Me'>;
export type Workspace = Me['workspaces'][number];

export const ME = ['me'] as const;

export function useMeQuery() {
  return useQuery({
    queryKey: ME,
    queryFn: () => ask(api.GET('/api/v1/me')),
    retry: false,
    staleTime: 60_000,
  });
}

/** The person who is signed in. Only inside the frame, which waits for it. */
export function useMe(): Me {
  const { data } = useMeQuery();
  if (!data) throw new Error('nobody is signed in');
  return data;
}

export function useWorkspace(): Workspace {
  const { workspaceId } = usePlace();
  const { workspaces } = useMe();
  const workspace = workspaces.find(({ id }) => id === workspaceId) ?? workspaces[0];
  if (!workspace) throw new Error('the person has no workspace');
  return workspace;
}

/** Whether the person's role may do this here. The API decides; the screen only hides what is refused. */
export function useMay(): (right: string) => boolean {
  const { rights } = useWorkspace();
  return (right) => (rights as readonly string[]).includes(right);
}

/** After a sign-in by whatever way: keep who it is, and stand in a workspace that is theirs. */
export function signedIn(queries: QueryClient, me: Me): void {
  queries.setQueryData(ME, me);
  sessionEnded.set(false);
  settleWorkspace(me);
}

export function settleWorkspace(me: Me): void {
  const { workspaceId } = currentPlace();
  if (me.workspaces.some(({ id }) => id === workspaceId)) return;
  // The oldest, as on the command line: the one that the first start made a key for. Ids are in order of time.
  const [first] = me.workspaces.map(({ id }) => id).sort();
  if (first !== undefined) goToWorkspace(first);
}

/** By the person's own wish. False: they have something to save first, and stay. */
export async function changeWorkspace(workspaceId: string): Promise<boolean> {
  if (!(await mayLeave())) return false;
  goToWorkspace(workspaceId);
  return true;
}
