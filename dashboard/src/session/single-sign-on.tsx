import { useQuery } from '@tanstack/react-query';
import { KeyRound } from 'lucide-react';
import { api, unwrap } from '../api/client.ts';
import { Button, buttonClass } from '../components/button.tsx';
import { CardPage } from './card-page.tsx';
import { switchWorkspace, useMe, type Workspace } from './session.ts';
import { useSignOut } from './use-sign-out.ts';

/** The ways to sign in: to a workspace, or to the server. */
export function useSignInOptions(workspace: string | undefined) {
  return useQuery({
    queryKey: ['sign-in-options', workspace ?? null],
    queryFn: () =>
      unwrap(
        api.GET('/api/v1/session/options', {
          params: { query: workspace === undefined ? {} : { workspace } },
        }),
      ),
  });
}

/** A link and not a request: the provider answers with a page. */
export function singleSignOnUrl(workspace: string | undefined, next?: string): string {
  const query = new URLSearchParams();
  if (workspace !== undefined) query.set('workspace', workspace);
  if (next !== undefined) query.set('next', next);
  const text = query.toString();
  return text === '' ? '/sso/start' : `/sso/start?${text}`;
}

/** Nothing while there is no provider. */
export function SingleSignOnButton({
  workspace,
  next,
  newTab,
}: {
  workspace: string | undefined;
  next?: string | undefined;
  /** Keeps the page open, with what was typed. */
  newTab?: boolean;
}) {
  const options = useSignInOptions(workspace);
  const provider = options.data?.single_sign_on;
  if (!provider) return null;
  return (
    <a
      href={singleSignOnUrl(workspace, next)}
      className={`${buttonClass('plain')} w-full`}
      {...(newTab ? { target: '_blank', rel: 'noreferrer' } : {})}
    >
      <KeyRound className="size-4" aria-hidden />
      Sign in with {provider.name}
    </a>
  );
}

/** Shown instead of a workspace whose members must sign in with its identity provider. */
export function SingleSignOnRequired({ workspace }: { workspace: Workspace }) {
  const { workspaces } = useMe();
  const signOut = useSignOut();
  const others = workspaces.filter(({ id, removed, single_sign_on_required: isRequired }) => {
    return id !== workspace.id && !removed && !isRequired;
  });
  return (
    <CardPage
      title={`Sign in to ${workspace.name}`}
      description="This workspace requires its own sign-in."
    >
      <div className="grid gap-2">
        <SingleSignOnButton workspace={workspace.id} />
        {others.map(({ id, name }) => (
          <Button key={id} className="w-full" onClick={() => void switchWorkspace(id)}>
            Open {name}
          </Button>
        ))}
        <Button kind="quiet" className="w-full" onClick={signOut}>
          Sign out
        </Button>
      </div>
    </CardPage>
  );
}
