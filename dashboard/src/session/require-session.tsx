import { useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { toProblem } from '../api/problem.ts';
import { roleRefusals } from '../api/role-doubted.ts';
import { AppLayout } from '../layout/app-layout.tsx';
import { showToast } from '../layout/toasts.tsx';
import { Button } from '../components/button.tsx';
import { ErrorAlert } from '../components/alert.tsx';
import { useSelection } from './selection.ts';
import { CardPage } from './card-page.tsx';
import { ME_QUERY_KEY, ensureWorkspace, useMeQuery, type Workspace } from './session.ts';
import { useSignOut } from './use-sign-out.ts';

/** Lets into the frame who is signed in, and sends everybody else to the sign-in page. */
export function RequireSession() {
  const me = useMeQuery();
  const { workspaceId } = useSelection();
  const router = useRouter();
  // Only who never came in is sent away. A session that ends later is for the sign-in window over
  // the page: leaving it would lose what is being written.
  const signedOut = me.isLoadingError && toProblem(me.error).status === 401;
  useEffect(() => {
    if (me.data) ensureWorkspace(me.data);
  }, [me.data]);
  useRoleChanges(me.data?.workspaces.find(({ id }) => id === workspaceId));
  useEffect(() => {
    if (!signedOut) return;
    const { pathname, searchStr } = router.state.location;
    const next = pathname === '/' ? {} : { next: `${pathname}${searchStr}` };
    void router.navigate({ to: '/sign-in', search: next, replace: true });
  }, [signedOut, router]);
  if (me.data) {
    if (me.data.workspaces.length === 0) return <NoWorkspace />;
    // The first request must already name a workspace that is the person's own.
    if (!me.data.workspaces.some(({ id }) => id === workspaceId)) return null;
    return <AppLayout />;
  }
  if (me.isPending || signedOut) {
    return <div className="h-dvh bg-canvas" role="status" aria-label="Loading" />;
  }
  return (
    <CardPage title="Not now">
      <ErrorAlert error={me.error} onRetry={() => void me.refetch()} />
    </CardPage>
  );
}

/** A role can be changed at any time: a refusal is the first to tell, and then it is said in words. */
function useRoleChanges(workspace: Workspace | undefined): void {
  const queries = useQueryClient();
  const { id, name, role, lost } = workspace ?? {};
  useEffect(() => {
    if (lost) return;
    return roleRefusals.subscribe(() => {
      void queries.invalidateQueries({ queryKey: ME_QUERY_KEY }, { cancelRefetch: false });
    });
  }, [queries, lost]);
  const before = useRef({ id, role });
  useEffect(() => {
    const changed = before.current.id === id && before.current.role !== role;
    before.current = { id, role };
    if (changed) showToast(`Your role in ${name} is ${role} now.`);
  }, [id, name, role]);
}

function NoWorkspace() {
  const signOut = useSignOut();
  return (
    <CardPage title="No workspace">
      <p className="text-sm text-soft">
        You are signed in, but no workspace counts you among its members any more. Ask an owner to
        invite you.
      </p>
      <Button className="mt-4" onClick={signOut}>
        Sign out
      </Button>
    </CardPage>
  );
}
