import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link, Outlet, useLocation } from '@tanstack/react-router';
import { LogOut } from 'lucide-react';
import { useEffect, useState } from 'react';
import { unwrap } from '../../api/client.ts';
import { ErrorAlert } from '../../components/alert.tsx';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Field, TextInput } from '../../components/field.tsx';
import { ConfirmDialog } from '../../layout/confirm-dialog.tsx';
import { CardPage, Wordmark } from '../../session/card-page.tsx';
import { operatorApi, setOperatorKey, useOperatorKey } from './operator-session.ts';

const PAGES = [
  { to: '/operator', label: 'Workspaces' },
  { to: '/operator/queue', label: 'Queue' },
  { to: '/operator/audit-log', label: 'Audit log' },
  { to: '/operator/keys', label: 'Operator keys' },
] as const;

/** The operator's own area: all workspaces of the server. It requires an operator key. */
export function OperatorLayout() {
  const key = useOperatorKey();
  const queries = useQueryClient();
  useEffect(() => {
    // The area has no mode and uses the live (brand) color.
    document.documentElement.dataset.mode = 'live';
  }, []);
  const { pathname } = useLocation();
  // Instance owners manage keys with their session, so that they can create their first one.
  if (key === null && pathname !== '/operator/keys') return <OperatorSignIn />;
  const signOut = () => {
    setOperatorKey(null);
    queries.removeQueries({ queryKey: ['operator'] });
  };
  return (
    <div className="flex min-h-dvh flex-col bg-canvas">
      <header className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-2.5">
        <Wordmark />
        <Badge tone="accent">Operator</Badge>
        <nav
          aria-label="Operator"
          className="-mx-2.5 flex w-full flex-wrap gap-1 max-sm:order-last sm:mx-0 sm:w-auto sm:flex-1"
        >
          {PAGES.map(({ to, label }) => (
            <Link
              key={to}
              to={to}
              activeOptions={{ exact: true, includeSearch: false }}
              className="rounded-md px-2.5 py-1 text-sm font-medium text-soft hover:bg-panel hover:text-ink aria-[current=page]:bg-panel aria-[current=page]:text-ink"
            >
              {label}
            </Link>
          ))}
        </nav>
        {key !== null && (
          <Button kind="quiet" icon={LogOut} onClick={signOut} className="max-sm:ml-auto">
            Sign out
          </Button>
        )}
      </header>
      <main
        id="content"
        className="flex-1 border-(--canvas-line) border-t bg-panel lg:mx-2 lg:mb-2 lg:rounded-xl lg:border lg:shadow-panel"
      >
        <Outlet />
      </main>
      <ConfirmDialog />
    </div>
  );
}

function OperatorSignIn() {
  const [key, setKey] = useState('');
  const signingIn = useMutation({
    mutationFn: () => unwrap(operatorApi(key.trim()).GET('/api/v1/operator/status')),
    onSuccess: () => setOperatorKey(key.trim()),
  });
  return (
    <CardPage
      title="Operator"
      description={
        <>
          Enter an operator key. <code className="font-mono">postrider operator-keys create</code>{' '}
          creates one, and so do instance owners{' '}
          <Link to="/operator/keys" className="underline">
            on screen
          </Link>
          . It is kept until you close this tab.
        </>
      }
    >
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          signingIn.mutate();
        }}
      >
        <Field label="Operator key">
          <TextInput
            type="password"
            mono
            value={key}
            onChange={(event) => setKey(event.target.value)}
            placeholder="pr_operator_…"
            required
            autoFocus
          />
        </Field>
        {signingIn.isError && <ErrorAlert error={signingIn.error} />}
        <Button type="submit" kind="primary" busy={signingIn.isPending} className="w-full">
          Continue
        </Button>
      </form>
    </CardPage>
  );
}
