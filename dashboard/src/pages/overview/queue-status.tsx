import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type Schema, unwrap } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { ErrorAlert } from '../../components/alert.tsx';
import { Section } from '../../components/page.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { Time } from '../../components/time.tsx';
import { formatNumber } from '../../lib/format.ts';

const POLL_MS = 15_000;
/** Shorter waits are normal processing time. */
const LATE_MS = 60_000;

/** Messages that are not delivered yet. */
export function QueueStatus() {
  const { api, key } = useApi();
  const queue = useQuery({
    queryKey: key('queue'),
    queryFn: () => unwrap(api.GET('/api/v1/queue')),
    refetchInterval: POLL_MS,
  });
  return (
    <Section title="Queue" className="min-w-0">
      {queue.isError && !queue.data ? (
        <ErrorAlert error={queue.error} />
      ) : (
        <>
          <ul className="grid gap-2 text-sm">
            <QueueRow status="queued" label="Sending" n={queue.data?.queued} />
            <QueueRow status="deferred" label="Retrying" n={queue.data?.deferred} />
            <QueueRow status="scheduled" label="Scheduled" n={queue.data?.scheduled} />
          </ul>
          <p className="mt-3 min-h-7.5 border-t border-line pt-3 text-xs text-faint">
            {queue.data?.more && 'Counts are lower bounds. '}
            {queue.data && <Backlog queue={queue.data} />}
          </p>
        </>
      )}
    </Section>
  );
}

function QueueRow({ status, label, n }: { status: string; label: string; n: number | undefined }) {
  return (
    <li className="flex items-baseline justify-between gap-3">
      <Link to="/messages" search={{ status }} className="rounded hover:underline">
        {label}
      </Link>
      <span className="font-medium tabular-nums">
        {n === undefined ? <Skeleton className="w-5" /> : formatNumber(n)}
      </span>
    </li>
  );
}

function Backlog({ queue }: { queue: Schema<'Queue'> }) {
  const { queued, deferred, scheduled, oldest_due_at: oldest } = queue;
  if (queued + deferred + scheduled === 0) return 'The queue is empty.';
  if (oldest === null || Date.now() - Date.parse(oldest) < LATE_MS)
    return 'Nothing is more than a minute late.';
  return (
    <>
      Oldest message due <Time at={oldest} className="font-medium text-warn" />
    </>
  );
}
