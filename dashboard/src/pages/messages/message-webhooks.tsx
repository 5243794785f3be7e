import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Webhook } from 'lucide-react';
import { unwrap } from '../../api/client.ts';
import { pageParams, usePaginatedQuery } from '../../api/pagination.ts';
import { useApi } from '../../api/use-api.ts';
import { ErrorAlert } from '../../components/alert.tsx';
import { buttonClass } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { LoadMore } from '../../components/load-more.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { DeliveryRow, useLiveDeliveries } from '../webhooks/deliveries.tsx';

/** The webhook deliveries for a message. */
export function MessageWebhooks({ messageId }: { messageId: string }) {
  const { api, key } = useApi();
  useLiveDeliveries();
  const list = usePaginatedQuery(key('webhook-deliveries', 'message', messageId), (cursor) =>
    unwrap(
      api.GET('/api/v1/webhook-deliveries', {
        params: { query: { ...pageParams(cursor), message_id: messageId } },
      }),
    ),
  );
  const endpoints = useQuery({
    queryKey: key('webhooks', 'names'),
    queryFn: () => unwrap(api.GET('/api/v1/webhooks', { params: { query: { limit: 100 } } })),
  });
  if (list.isPending || endpoints.isPending) return <SkeletonRows rows={3} />;
  if (list.isError) return <ErrorAlert error={list.error} />;
  if (list.rows.length === 0 && !list.hasNextPage) {
    const none = endpoints.data?.data.length === 0;
    return (
      <EmptyState
        icon={Webhook}
        title="No webhook deliveries"
        actions={
          <Link to="/webhooks" search={none ? { new: 'true' } : {}} className={buttonClass()}>
            {none ? 'Add endpoint' : 'View endpoints'}
          </Link>
        }
      >
        {none
          ? 'Add a webhook to receive the events of your messages.'
          : 'No endpoint was subscribed to the events of this message when they occurred. Endpoints receive only events that occur after they are added.'}
      </EmptyState>
    );
  }
  const urls = new Map(endpoints.data?.data.map(({ id, url }) => [id, url]));
  return (
    <>
      <ul className="divide-y divide-line overflow-hidden rounded-xl border border-line">
        {list.rows.map((delivery) => (
          <DeliveryRow
            key={delivery.id}
            delivery={delivery}
            endpoint={urls.get(delivery.webhook_id) ?? 'Deleted endpoint'}
          />
        ))}
      </ul>
      <LoadMore {...list} />
    </>
  );
}
