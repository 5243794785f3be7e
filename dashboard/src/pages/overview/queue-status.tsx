import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { unwrap } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { Section } from '../../components/page.tsx';
import { ErrorAlert } from '../../components/alert.tsx';
import { formatNumber } from '../../lib/format.ts';
import { Skeleton } from '../../components/skeleton.tsx';
import { Time } from '../../components/time.tsx';

const POLL_MS = 15_000;
/** Less than this is just the time that things take. */
const LATE_MS = 60_000;

/** What has not left yet, at this moment. */
export function QueueStatus() {
  const { api, key } = useApi();
  const queue = useQuery({
    queryKey: key('queue'),
    queryFn: () => unwrap(api.GET('/api/v1/queue')),
    refetchInterval: POLL_MS,
  });
  return (
    <Section title="Waiting now" className="min-w-0">
      {queue.isError && !queue.data ? (
        <ErrorAlert error={queue.error} />
      ) : (
        <>
          <ul className="grid gap-2 text-sm">
            <QueueRow status="queued" label="On their way" n={queue.data?.queued} />
            <QueueRow status="deferred" label="Tried again later" n={queue.data?.deferred} />
            <QueueRow status="scheduled" label="Scheduled" n={queue.data?.scheduled} />
          </ul>
          <p className="mt-3 min-h-7.5 border-t border-line pt-3 text-xs text-faint">
            {queue.data?.more && 'There are more than were counted. '}
            {queue.data && <Oldest at={queue.data.oldest_due_at} />}
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

function Oldest({ at }: { at: string | null }) {
  if (at === null || Date.now() - Date.parse(at) < LATE_MS) return 'Nothing waits for its turn.';
  return (
    <>
      The one that waits longest could have left <Time at={at} className="font-medium text-warn" />
    </>
  );
}
