import { useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { problemOf } from '../api/problem.ts';
import { roleDoubted } from '../api/role-doubted.ts';
import { Frame } from '../frame/frame.tsx';
import { tell } from '../frame/toasts.tsx';
import { Button } from '../parts/button.tsx';
import { ProblemNote } from '../parts/problem-note.tsx';
import { usePlace } from './place.ts';
import { PlainPage } from './plain-page.tsx';
import { ME, settleWorkspace, useMeQuery, type Workspace } from './session.ts';
import { useSignOut } from './use-sign-out.ts';

/** Lets into the frame who is signed in, and sends everybody else to the sign-in page. */
export function Gate() {
  const me = useMeQuery();
  const { workspaceId } = usePlace();
  const router = useRouter();
  // Only who never came in is sent away. A session that ends later is for the sign-in window over
  // the page: leaving it would lose what is being written.
  const stranger = me.isLoadingError && problemOf(me.error).status === 401;
  useEffect(() => {
    if (me.data) settleWorkspace(me.data);
  }, [me.data]);
  useRole(me.data?.workspaces.find(({ id }) => id === workspaceId));
  useEffect(() => {
    if (!stranger) return;
    const { pathname, searchStr } = router.state.location;
    const next = pathname === '/' ? {} : { next: `${pathname}${searchStr}` };
    void router.navigate({ to: '/sign-in', search: next, replace: true });
  }, [stranger, router]);
  if (me.data) {
    if (me.data.workspaces.length === 0) return <NoWorkspace />;
    // The first request must already name a workspace that is the person's own.
    if (!me.data.workspaces.some(({ id }) => id === workspaceId)) return null;
    return <Frame />;
  }
  if (me.isPending || stranger) {
    return <div className="h-dvh bg-canvas" role="status" aria-label="Loading" />;
  }
  return (
    <PlainPage title="Not now">
      <ProblemNote error={me.error} onRetry={() => void me.refetch()} />
    </PlainPage>
  );
}

/** A role can be changed at any time: a refusal is the first to tell, and then it is said in words. */
function useRole(workspace: Workspace | undefined): void {
  const queries = useQueryClient();
  const { id, name, role, lost } = workspace ?? {};
  useEffect(() => {
    if (lost) return;
    return roleDoubted.subscribe(() => {
      void queries.invalidateQueries({ queryKey: ME }, { cancelRefetch: false });
    });
  }, [queries, lost]);
  const before = useRef({ id, role });
  useEffect(() => {
    const changed = before.current.id === id && before.current.role !== role;
    before.current = { id, role };
    if (changed) tell(`Your role in ${name} is ${role} now.`);
  }, [id, name, role]);
}

function NoWorkspace() {
  const signOut = useSignOut();
  return (
    <PlainPage title="No workspace">
      <p className="text-sm text-soft">
        You are signed in, but no workspace counts you among its members any more. Ask an owner to
        invite you.
      </p>
      <Button className="mt-4" onClick={signOut}>
        Sign out
      </Button>
    </PlainPage>
  );
}
