import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { LogOut, Monitor } from 'lucide-react';
import { api, ask } from '../../api/client.ts';
import { confirmFirst } from '../../frame/confirm.tsx';
import { tell } from '../../frame/toasts.tsx';
import { Badge } from '../../parts/badge.tsx';
import { Button, IconButton } from '../../parts/button.tsx';
import { Section } from '../../parts/page.tsx';
import { ProblemNote } from '../../parts/problem-note.tsx';
import { SkeletonRows } from '../../parts/skeleton.tsx';
import { Time } from '../../parts/time.tsx';

/** Where the person is signed in, with a way to end each. */
export function SessionList() {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const sessions = useQuery({
    queryKey: ['sessions'],
    queryFn: () => ask(api.GET('/api/v1/me/sessions', { params: { query: { limit: 100 } } })),
  });
  if (sessions.isPending) return <SkeletonRows rows={3} />;
  if (sessions.isLoadingError) return <ProblemNote error={sessions.error} />;
  const refresh = () => queries.invalidateQueries({ queryKey: ['sessions'] });
  const endOthers = () =>
    confirmFirst({
      title: 'Sign out everywhere else?',
      body: 'Every other browser and machine must sign in again.',
      verb: 'Sign out elsewhere',
      run: async () => {
        await ask(api.DELETE('/api/v1/me/sessions', { params: { query: { keep_current: true } } }));
        await refresh();
        tell('You are signed out everywhere else.');
      },
    });
  const endAll = () =>
    confirmFirst({
      title: 'Sign out everywhere?',
      body: 'Here too.',
      verb: 'Sign out everywhere',
      run: async () => {
        await ask(api.DELETE('/api/v1/me/sessions'));
        queries.clear();
        void navigate({ to: '/sign-in' });
      },
    });
  const end = async (id: string) => {
    await ask(api.DELETE('/api/v1/me/sessions/{id}', { params: { path: { id } } }));
    await refresh();
  };
  return (
    <div className="max-w-2xl">
      <Section
        title="Sessions"
        description="Where you are signed in."
        actions={
          <>
            <Button size="small" onClick={endOthers}>
              Sign out elsewhere
            </Button>
            <Button size="small" kind="danger-quiet" onClick={endAll}>
              Everywhere
            </Button>
          </>
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
                  {session.current && <Badge tone="good">this one</Badge>}
                </div>
                <div className="text-xs text-faint">
                  {session.ip} · seen <Time at={session.last_seen_at} /> · since{' '}
                  <Time at={session.created_at} />
                </div>
              </div>
              {!session.current && (
                <IconButton
                  icon={LogOut}
                  danger
                  label="End this session"
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
