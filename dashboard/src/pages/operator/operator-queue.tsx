import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Inbox } from 'lucide-react';
import { type Schema, unwrap } from '../../api/client.ts';
import { Alert } from '../../components/alert.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Page } from '../../components/page.tsx';
import { Loadable } from '../../components/paginated-list.tsx';
import { Table, Td, Th, Tr } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { capitalize, formatNumber } from '../../lib/format.ts';
import { useOperatorApi } from './operator-session.ts';

const REFRESH_MS = 10_000;

/** Unfinished live mail of all workspaces, by workspace and receiver. */
export function OperatorQueuePage() {
  const api = useOperatorApi();
  const queue = useQuery({
    queryKey: ['operator', 'queue'],
    queryFn: () => unwrap(api.GET('/api/v1/operator/queue')),
    refetchInterval: REFRESH_MS,
  });
  return (
    <Page full title="Queue" description="Unfinished live mail by workspace and receiver.">
      <Loadable query={queue}>{queue.data && <QueueGroups queue={queue.data} />}</Loadable>
    </Page>
  );
}

function QueueGroups({ queue }: { queue: Schema<'QueueGroups'> }) {
  const { data, more, throttled_receivers: throttled } = queue;
  return (
    <div className="grid gap-4">
      {throttled.length > 0 && (
        <Alert
          tone="warn"
          title="Some receivers limit how much mail they accept from this server."
          className="mx-4 sm:mx-6"
        >
          <p>{throttled.map(({ receiver }) => receiver).join(', ')}</p>
        </Alert>
      )}
      {data.length === 0 ? (
        <EmptyState icon={Inbox} title="The queue is empty" />
      ) : (
        <Table label="Queue">
          <thead>
            <tr>
              <Th>Workspace</Th>
              <Th hideBelow="md">Receiver</Th>
              <Th className="text-right">Queued</Th>
              <Th className="text-right">Deferred</Th>
              <Th className="text-right">Scheduled</Th>
              <Th hideBelow="md">Next attempt</Th>
              <Th hideBelow="md">Reason</Th>
            </tr>
          </thead>
          <tbody>
            {data.map((group) => (
              <Tr key={`${group.workspace.id} ${group.receiver}`}>
                <Td>
                  <Link
                    to="/operator/workspaces/$id"
                    params={{ id: group.workspace.id }}
                    className="font-medium hover:underline"
                  >
                    {group.workspace.name}
                  </Link>
                  <div className="text-xs text-faint md:hidden">{group.receiver}</div>
                </Td>
                <Td hideBelow="md">{group.receiver}</Td>
                <Td className="text-right tabular-nums">{formatNumber(group.queued)}</Td>
                <Td className="text-right tabular-nums">{formatNumber(group.deferred)}</Td>
                <Td className="text-right tabular-nums">{formatNumber(group.scheduled)}</Td>
                <Td hideBelow="md" className="text-soft">
                  <Time at={group.next_attempt_at} upcoming />
                </Td>
                <Td hideBelow="md" className="text-soft">
                  {group.reason && capitalize(group.reason.replaceAll('_', ' '))}
                </Td>
              </Tr>
            ))}
          </tbody>
        </Table>
      )}
      {more && (
        <p className="px-4 text-xs text-faint sm:px-6">
          Only the first 10,000 recipients in the queue are counted.
        </p>
      )}
    </div>
  );
}
