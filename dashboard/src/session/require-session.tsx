import { useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { toProblem } from '../api/problem.ts';
import { roleRefusals } from '../api/session-signals.ts';
import { ErrorAlert } from '../components/alert.tsx';
import { Button } from '../components/button.tsx';
import { AppLayout } from '../layout/app-layout.tsx';
import { showToast } from '../layout/toasts.tsx';
import { AccountDeletion } from '../pages/settings/delete-account.tsx';
import { CardPage } from './card-page.tsx';
import { MovedWorkspaces } from './moved-workspaces.tsx';
import { currentSelection, useSelection } from './selection.ts';
import { ensureWorkspace, ME_QUERY_KEY, useMe, useMeQuery, type Workspace } from './session.ts';
import { SingleSignOnRequired } from './single-sign-on.tsx';
import { useSignOut } from './use-sign-out.ts';

/** Shows the layout to signed-in users and redirects everyone else to the sign-in page. */
export function RequireSession() {
  const me = useMeQuery();
  const { workspaceId } = useSelection();
  const router = useRouter();
  // Redirect only if there was never a session. When a session ends later, the sign-in dialog
  // opens over the page, because leaving the page would lose unsaved text.
  const signedOut = me.isLoadingError && toProblem(me.error).status === 401;
  useEffect(() => {
    if (!me.data) return;
    const before = currentSelection().workspaceId;
    ensureWorkspace(me.data);
    if (currentSelection().workspaceId === before) return;
    // Otherwise the user would wonder why another workspace is open.
    const moved = me.data.moved_workspaces.find(({ id }) => id === before);
    if (moved) showToast(`${moved.name} has moved to ${moved.url ?? 'another server'}.`);
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
    // Wait until a workspace of the user is selected, so that every request names one.
    const workspace = me.data.workspaces.find(({ id }) => id === workspaceId);
    if (!workspace) return null;
    if (workspace.single_sign_on_required) return <SingleSignOnRequired workspace={workspace} />;
    return <AppLayout />;
  }
  if (me.isPending || signedOut) {
    return <div className="h-dvh bg-canvas" role="status" aria-label="Loading" />;
  }
  return (
    <CardPage title="Can’t load Postrider">
      <ErrorAlert error={me.error} onRetry={() => void me.refetch()} />
    </CardPage>
  );
}

/** Notices a changed role, which first shows as a refused request, and announces it. */
function useRoleChanges(workspace: Workspace | undefined): void {
  const queries = useQueryClient();
  const { id, name, role, removed } = workspace ?? {};
  useEffect(() => {
    if (removed) return;
    return roleRefusals.subscribe(() => {
      void queries.invalidateQueries({ queryKey: ME_QUERY_KEY }, { cancelRefetch: false });
    });
  }, [queries, removed]);
  const before = useRef({ id, role });
  useEffect(() => {
    const changed = before.current.id === id && before.current.role !== role;
    before.current = { id, role };
    if (changed) showToast(`Your role in ${name} is now ${role}.`);
  }, [id, name, role]);
}

function NoWorkspace() {
  const { has_password: hasPassword, session, moved_workspaces: moved } = useMe();
  const signOut = useSignOut();
  return (
    <CardPage
      title={moved.length > 0 ? 'Workspace moved' : 'No workspace'}
      {...(moved.length > 0
        ? { description: 'Sign in at the new address with the same email and password.' }
        : {})}
    >
      {moved.length > 0 ? (
        <MovedWorkspaces moved={moved} />
      ) : (
        <p className="text-sm text-soft">
          You are not a member of any workspace. Ask an owner to invite you.
        </p>
      )}
      <div className="mt-4 flex flex-wrap items-end gap-2">
        <Button onClick={signOut}>Sign out</Button>
        {hasPassword && session.limited_to === null && <AccountDeletion />}
      </div>
    </CardPage>
  );
}
