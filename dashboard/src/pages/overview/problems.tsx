import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import {
  AtSign,
  BellRing,
  ChevronRight,
  CircleCheck,
  KeyRound,
  type LucideIcon,
  Webhook,
} from 'lucide-react';
import type { ReactNode } from 'react';
import { apiOf, ask } from '../../api/client.ts';
import { useHere } from '../../api/here.ts';
import { everyRow } from '../../api/use-pages.ts';
import { classNames } from '../../parts/class-names.ts';
import { Time } from '../../parts/time.tsx';
import { useMay } from '../../session/session.ts';
import { stateOf } from '../webhooks/endpoint-state.tsx';

/** What needs a person, the worst first. */
export interface ProblemRow {
  id: string;
  tone: 'bad' | 'warn';
  icon: LucideIcon;
  title: ReactNode;
  detail: ReactNode;
  to: string;
  search?: Record<string, string>;
}

export function Problems({ rows }: { rows: readonly ProblemRow[] }) {
  if (rows.length === 0) {
    return (
      <p className="flex items-center gap-2 text-sm text-soft">
        <CircleCheck className="size-4 text-good" aria-hidden />
        Nothing needs you.
      </p>
    );
  }
  return (
    <section aria-labelledby="problems">
      <h2 id="problems" className="sr-only">
        Problems
      </h2>
      <ul className="divide-y divide-line overflow-hidden rounded-xl border border-line">
        {rows.map((row) => (
          <li
            key={row.id}
            className="row-link flex items-center gap-3 px-4 py-2.5 transition-colors hover:bg-sunken has-focus-visible:bg-sunken"
          >
            <span
              className={classNames(
                'flex size-8 shrink-0 items-center justify-center rounded-lg',
                row.tone === 'bad' ? 'bg-bad-wash text-bad' : 'bg-warn-wash text-warn',
              )}
            >
              <row.icon className="size-4" aria-hidden />
            </span>
            <div className="min-w-0 flex-1 text-sm">
              <Link
                to={row.to}
                search={(row.search ?? {}) as never}
                data-row
                className="cover font-medium break-words outline-none"
              >
                {row.title}
              </Link>
              <p className="text-soft">{row.detail}</p>
            </div>
            <ChevronRight className="size-4 shrink-0 text-faint" aria-hidden />
          </li>
        ))}
      </ul>
    </section>
  );
}

const LOOK_MS = 60_000;

/** Undefined until everything was looked at, so that nothing jumps while the page comes in. */
export function useProblems(): ProblemRow[] | undefined {
  const domains = useDomainProblems();
  const webhooks = useWebhookProblems();
  const alarms = useAlarmProblems();
  const keys = useKeyProblems();
  const parts = [domains, alarms, webhooks, keys];
  if (parts.includes(undefined)) return undefined;
  const rows = parts.flatMap((part) => part ?? []);
  return rows.toSorted((a, b) => Number(a.tone === 'warn') - Number(b.tone === 'warn'));
}

/** Each of these is undefined until it is known; who may not look, or cannot, sees no problems. */
function useDomainProblems(): ProblemRow[] | undefined {
  const { api, key } = useHere();
  const may = useMay()('read:domains');
  const { data, isError } = useQuery({
    queryKey: key('domains', 'overview'),
    queryFn: () => everyRow((query) => ask(api.GET('/api/v1/domains', { params: { query } }))),
    enabled: may,
    refetchInterval: LOOK_MS,
  });
  if (!may || (isError && !data)) return [];
  return data?.flatMap(({ id, name, status, sending_stops_at }): ProblemRow[] => {
    const row = { id, icon: AtSign, to: `/domains/${id}` };
    if (status === 'failed') {
      const detail = 'Its records were gone for too long. Publish them again.';
      return [{ ...row, tone: 'bad', title: `${name} cannot send`, detail }];
    }
    if (status !== 'degraded') return [];
    return [
      {
        ...row,
        tone: 'warn',
        title: `${name} has lost a record`,
        detail: (
          <>
            It sends on, but stops <Time at={sending_stops_at} /> unless the record comes back.
          </>
        ),
      },
    ];
  });
}

function useWebhookProblems(): ProblemRow[] | undefined {
  const { api, key } = useHere();
  const may = useMay()('read:webhooks');
  const { data, isError } = useQuery({
    queryKey: key('webhooks', 'overview'),
    queryFn: () => ask(api.GET('/api/v1/webhooks', { params: { query: { limit: 100 } } })),
    enabled: may,
    refetchInterval: LOOK_MS,
  });
  if (!may || (isError && !data)) return [];
  return data?.data.flatMap((webhook): ProblemRow[] => {
    const { id, url, enabled, disabled_reason } = webhook;
    const { why } = stateOf(webhook);
    // What somebody switched off on purpose is no problem.
    if (why === undefined || (!enabled && disabled_reason === 'manual')) return [];
    const host = new URL(url).host;
    return [
      {
        id,
        icon: Webhook,
        to: `/webhooks/${id}`,
        tone: enabled ? 'warn' : 'bad',
        title: enabled ? `The endpoint at ${host} fails` : `The endpoint at ${host} is off`,
        detail: why,
      },
    ];
  });
}

function useAlarmProblems(): ProblemRow[] | undefined {
  const { api, key } = useHere();
  const may = useMay()('read:events');
  const { data, isError } = useQuery({
    queryKey: key('alarms'),
    queryFn: () => ask(api.GET('/api/v1/alarms')),
    enabled: may,
    refetchInterval: LOOK_MS,
  });
  if (!may || (isError && !data)) return [];
  return data?.data.flatMap(({ kind, subject, raised_at, explanation }): ProblemRow[] => {
    if (TOLD_BY_THEMSELVES.includes(kind)) return [];
    return [
      {
        id: `${kind} ${subject}`,
        icon: BellRing,
        tone: 'bad',
        title: explanation,
        detail: (
          <>
            {ADVICE[kind]} Raised <Time at={raised_at} />
          </>
        ),
        ...(WHERE[kind] ?? { to: '/events' }),
      },
    ];
  });
}

/** The endpoint, the key or the domain stands in the list already, with its name. */
const TOLD_BY_THEMSELVES = ['webhook_failing', 'key_expiring', 'domain_degraded'];

type Where = Pick<ProblemRow, 'to' | 'search'>;
const WHERE: Record<string, Where> = {
  bounce_rate: { to: '/messages', search: { status: 'bounced' } },
  complaint_rate: { to: '/suppressions', search: { reason: 'complaint' } },
  queue_age: { to: '/messages', search: { status: 'queued' } },
};

const ADVICE: Record<string, string> = {
  bounce_rate:
    'Look where the addresses come from. Receivers block senders whose mail bounces a lot.',
  complaint_rate:
    'Write only to people who asked for it. Receivers put the rest into spam, and soon all of it.',
  queue_age: 'See whether the server is busy, and whether receivers take anything.',
};

const SOON_MS = 7 * 86_400_000;

function useKeyProblems(): ProblemRow[] | undefined {
  const { place } = useHere();
  const may = useMay()('read:api_keys');
  const { data, isError } = useQuery({
    queryKey: ['api-keys', place.workspaceId, 'overview'],
    queryFn: () =>
      everyRow((query) =>
        ask(apiOf({ ...place, mode: 'live' }).GET('/api/v1/api-keys', { params: { query } })),
      ),
    enabled: may,
  });
  if (!may || (isError && !data)) return [];
  return data?.flatMap(({ id, name, expires_at, revoked_at }): ProblemRow[] => {
    const leftMs =
      expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(expires_at) - Date.now();
    if (revoked_at !== null || leftMs > SOON_MS || leftMs < 0) return [];
    return [
      {
        id,
        icon: KeyRound,
        tone: 'warn',
        title: `The key ${name} ends soon`,
        detail: (
          <>
            It stops working <Time at={expires_at} />
          </>
        ),
        to: '/api-keys',
      },
    ];
  });
}
