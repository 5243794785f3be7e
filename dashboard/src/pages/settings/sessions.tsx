import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { LogOut, Monitor } from 'lucide-react';
import { api, unwrap } from '../../api/client.ts';
import { ErrorAlert } from '../../components/alert.tsx';
import { Badge } from '../../components/badge.tsx';
import { Button, IconButton } from '../../components/button.tsx';
import { Section } from '../../components/page.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Time } from '../../components/time.tsx';
import { requestConfirmation } from '../../layout/confirm-dialog.tsx';
import { showToast } from '../../layout/toasts.tsx';

/** The user's sessions, each of which can be ended. */
export function SessionList() {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const sessions = useQuery({
    queryKey: ['sessions'],
    queryFn: () => unwrap(api.GET('/api/v1/me/sessions', { params: { query: { limit: 100 } } })),
  });
  if (sessions.isPending) return <SkeletonRows rows={3} />;
  if (sessions.isLoadingError) return <ErrorAlert error={sessions.error} />;
  const refresh = () => queries.invalidateQueries({ queryKey: ['sessions'] });
  const endOthers = () =>
    requestConfirmation({
      title: 'Sign out everywhere else?',
      body: 'All other browsers will need to sign in again.',
      confirmLabel: 'Sign out everywhere else',
      run: async () => {
        await unwrap(
          api.DELETE('/api/v1/me/sessions', { params: { query: { keep_current: true } } }),
        );
        await refresh();
        showToast('Signed out everywhere else.');
      },
    });
  const endAll = () =>
    requestConfirmation({
      title: 'Sign out everywhere?',
      body: 'This also ends the current session.',
      confirmLabel: 'Sign out everywhere',
      run: async () => {
        await unwrap(api.DELETE('/api/v1/me/sessions'));
        queries.clear();
        void navigate({ to: '/sign-in' });
      },
    });
  const end = async (id: string) => {
    await unwrap(api.DELETE('/api/v1/me/sessions/{id}', { params: { path: { id } } }));
    await refresh();
  };
  return (
    <div className="max-w-2xl">
      <Section
        title="Sessions"
        description="Where you are signed in."
        actions={
          <div className="flex flex-wrap gap-2">
            <Button size="small" onClick={endOthers}>
              Sign out everywhere else
            </Button>
            <Button size="small" kind="danger-quiet" onClick={endAll}>
              Sign out everywhere
            </Button>
          </div>
        }
      >
        <ul className="-my-2 divide-y divide-line">
          {sessions.data.data.map((session) => (
            <li key={session.id} className="flex items-center gap-3 py-2.5 text-sm">
              <Monitor className="size-4 shrink-0 text-faint" aria-hidden />
              <div className="min-w-0 flex-1">
                <div className="flex items-center gap-2">
                  <span className="truncate font-medium" title={session.user_agent}>
                    {browserOf(session.user_agent)}
                  </span>
                  {session.current && <Badge tone="good">Current</Badge>}
                  {session.single_sign_on && <Badge>Single sign-on</Badge>}
                </div>
                <div className="text-xs text-faint">
                  {session.ip} · last seen <Time at={session.last_seen_at} /> · signed in{' '}
                  <Time at={session.created_at} />
                </div>
              </div>
              {!session.current && (
                <IconButton
                  icon={LogOut}
                  danger
                  label="End session"
                  onClick={() => void end(session.id)}
                />
              )}
            </li>
          ))}
        </ul>
      </Section>
    </div>
  );
}

const BROWSERS: [RegExp, string][] = [
  [/Edg\//, 'Edge'],
  [/OPR\//, 'Opera'],
  [/Firefox\//, 'Firefox'],
  [/Chrom(e|ium)\//, 'Chrome'],
  [/Safari\//, 'Safari'],
];

const SYSTEMS: [RegExp, string][] = [
  [/Windows/, 'Windows'],
  [/iPhone|iPad/, 'iOS'],
  [/Android/, 'Android'],
  [/Mac OS X/, 'macOS'],
  [/Linux/, 'Linux'],
];

function browserOf(userAgent: string): string {
  const browser = BROWSERS.find(([pattern]) => pattern.test(userAgent))?.[1];
  const system = SYSTEMS.find(([pattern]) => pattern.test(userAgent))?.[1];
  if (!browser) return userAgent.slice(0, 60) || 'Unknown';
  return system ? `${browser} on ${system}` : browser;
}
