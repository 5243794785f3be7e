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
import { apiFor, unwrap } from '../../api/client.ts';
import { fetchAllRows } from '../../api/pagination.ts';
import { useApi } from '../../api/use-api.ts';
import { Time } from '../../components/time.tsx';
import { classNames } from '../../lib/class-names.ts';
import { useCan } from '../../session/session.ts';
import { endpointStatus } from '../webhooks/endpoint-status.tsx';

/** A problem that needs attention. */
export interface Issue {
  id: string;
  tone: 'bad' | 'warn';
  icon: LucideIcon;
  title: ReactNode;
  detail: ReactNode;
  to: string;
  search?: Record<string, string>;
}

export function Issues({ rows }: { rows: readonly Issue[] }) {
  if (rows.length === 0) {
    return (
      <p className="flex items-center gap-2 text-sm text-soft">
        <CircleCheck className="size-4 text-good" aria-hidden />
        No issues
      </p>
    );
  }
  return (
    <section aria-labelledby="issues">
      <h2 id="issues" className="sr-only">
        Issues
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

const POLL_MS = 60_000;

/** Undefined until everything is loaded, so that the layout does not shift. Errors come first. */
export function useIssues(): Issue[] | undefined {
  const domains = useDomainIssues();
  const webhooks = useWebhookIssues();
  const alarms = useAlarmIssues();
  const keys = useKeyIssues();
  const parts = [domains, alarms, webhooks, keys];
  if (parts.includes(undefined)) return undefined;
  const rows = parts.flatMap((part) => part ?? []);
  return rows.toSorted((a, b) => Number(a.tone === 'warn') - Number(b.tone === 'warn'));
}

/** Each of these is undefined while loading, and empty without permission or on an error. */
function useDomainIssues(): Issue[] | undefined {
  const { api, key } = useApi();
  const can = useCan()('read:domains');
  const { data, isError } = useQuery({
    queryKey: key('domains', 'overview'),
    queryFn: () =>
      fetchAllRows((query) => unwrap(api.GET('/api/v1/domains', { params: { query } }))),
    enabled: can,
    refetchInterval: POLL_MS,
  });
  if (!can || (isError && !data)) return [];
  return data?.flatMap(({ id, name, status, sending_stops_at }): Issue[] => {
    const row = { id, icon: AtSign, to: `/domains/${id}` };
    if (status === 'failed') {
      const detail =
        'Required DNS records were missing for too long. Restore them to resume sending.';
      return [{ ...row, tone: 'bad', title: `${name} can’t send`, detail }];
    }
    if (status !== 'degraded') return [];
    return [
      {
        ...row,
        tone: 'warn',
        title: `${name} is missing a DNS record`,
        detail: (
          <>
            Still sending, but will stop <Time at={sending_stops_at} upcoming /> unless the record
            is restored.
          </>
        ),
      },
    ];
  });
}

function useWebhookIssues(): Issue[] | undefined {
  const { api, key } = useApi();
  const can = useCan()('read:webhooks');
  const { data, isError } = useQuery({
    queryKey: key('webhooks', 'overview'),
    queryFn: () => unwrap(api.GET('/api/v1/webhooks', { params: { query: { limit: 100 } } })),
    enabled: can,
    refetchInterval: POLL_MS,
  });
  if (!can || (isError && !data)) return [];
  const hosts = data?.data.map(({ url }) => new URL(url).host) ?? [];
  return data?.data.flatMap((webhook): Issue[] => {
    const { id, url, enabled, disabled_reason } = webhook;
    const { explanation } = endpointStatus(webhook);
    // An endpoint that a user disabled is not an issue.
    if (explanation === undefined || (!enabled && disabled_reason === 'manual')) return [];
    const { host, pathname } = new URL(url);
    const name = hosts.filter((one) => one === host).length > 1 ? host + pathname : host;
    return [
      {
        id,
        icon: Webhook,
        to: `/webhooks/${id}`,
        tone: enabled ? 'warn' : 'bad',
        title: enabled ? `Webhook ${name} is failing` : `Webhook ${name} is disabled`,
        detail: explanation,
      },
    ];
  });
}

function useAlarmIssues(): Issue[] | undefined {
  const { api, key } = useApi();
  const can = useCan()('read:events');
  const { data, isError } = useQuery({
    queryKey: key('alarms'),
    queryFn: () => unwrap(api.GET('/api/v1/alarms')),
    enabled: can,
    refetchInterval: POLL_MS,
  });
  if (!can || (isError && !data)) return [];
  return data?.data.flatMap(({ kind, subject, stream, raised_at, explanation }): Issue[] => {
    if (COVERED_ELSEWHERE.includes(kind)) return [];
    return [
      {
        id: `${kind} ${subject}`,
        icon: BellRing,
        tone: 'bad',
        title: explanation,
        detail: (
          <>
            {ALARM_ADVICE[kind]} Raised <Time at={raised_at} />.
          </>
        ),
        ...alarmLink(kind, stream),
      },
    ];
  });
}

/** These alarms are already listed by endpoint, key or domain. */
const COVERED_ELSEWHERE = ['webhook_failing', 'key_expiring', 'domain_degraded'];

type IssueLink = Pick<Issue, 'to' | 'search'>;

function alarmLink(kind: string, stream: string | null): IssueLink {
  const { to, search } = ALARM_LINKS[kind] ?? { to: '/events' };
  return { to, search: { ...search, ...(stream === null ? {} : { stream }) } };
}

const ALARM_LINKS: Record<string, IssueLink> = {
  bounce_rate: { to: '/messages', search: { status: 'bounced' } },
  complaint_rate: { to: '/suppressions', search: { reason: 'complaint' } },
  stream_bounce_rate: { to: '/messages', search: { status: 'bounced' } },
  stream_complaint_rate: { to: '/suppressions', search: { reason: 'complaint' } },
  queue_age: { to: '/messages', search: { status: 'queued' } },
};

const ALARM_ADVICE: Record<string, string> = {
  bounce_rate:
    'Check how these addresses were collected. Mailbox providers block senders with high bounce rates.',
  complaint_rate:
    'Send only to recipients who opted in. Complaints move all of your email to spam.',
  stream_bounce_rate:
    'Check how the addresses of this stream were collected. Other streams of the domain suffer too.',
  stream_complaint_rate:
    'Send this stream only to recipients who opted in. Complaints move all of your email to spam.',
  queue_age: 'Check the server’s load and whether receiving servers accept mail.',
};

const SOON_MS = 7 * 86_400_000;

function useKeyIssues(): Issue[] | undefined {
  const { selection } = useApi();
  const can = useCan()('read:api_keys');
  const { data, isError } = useQuery({
    queryKey: ['api-keys', selection.workspaceId, 'overview'],
    queryFn: () =>
      fetchAllRows((query) =>
        unwrap(
          apiFor({ ...selection, mode: 'live' }).GET('/api/v1/api-keys', { params: { query } }),
        ),
      ),
    enabled: can,
  });
  if (!can || (isError && !data)) return [];
  return data?.flatMap(({ id, name, expires_at, revoked_at }): Issue[] => {
    const leftMs =
      expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(expires_at) - Date.now();
    if (revoked_at !== null || leftMs > SOON_MS || leftMs < 0) return [];
    return [
      {
        id,
        icon: KeyRound,
        tone: 'warn',
        title: `API key ${name} expires soon`,
        detail: (
          <>
            It stops working <Time at={expires_at} />.
          </>
        ),
        to: '/api-keys',
      },
    ];
  });
}
