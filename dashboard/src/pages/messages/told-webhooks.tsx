import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Webhook } from 'lucide-react';
import { ask } from '../../api/client.ts';
import { useHere } from '../../api/here.ts';
import { pageQuery, usePages } from '../../api/use-pages.ts';
import { buttonClass } from '../../parts/button.tsx';
import { Empty } from '../../parts/empty.tsx';
import { LoadMore } from '../../parts/load-more.tsx';
import { ProblemNote } from '../../parts/problem-note.tsx';
import { SkeletonRows } from '../../parts/skeleton.tsx';
import { DeliveryRow, useFollowedDeliveries } from '../webhooks/deliveries.tsx';

/** What the owner's servers were told of a message, and what they answered. */
export function ToldWebhooks({ messageId }: { messageId: string }) {
  const { api, key } = useHere();
  useFollowedDeliveries();
  const list = usePages(key('webhook-deliveries', 'message', messageId), (cursor) =>
    ask(
      api.GET('/api/v1/webhook-deliveries', {
        params: { query: { ...pageQuery(cursor), message_id: messageId } },
      }),
    ),
  );
  const endpoints = useQuery({
    queryKey: key('webhooks', 'names'),
    queryFn: () => ask(api.GET('/api/v1/webhooks', { params: { query: { limit: 100 } } })),
  });
  if (list.isPending || endpoints.isPending) return <SkeletonRows rows={3} />;
  if (list.isError) return <ProblemNote error={list.error} />;
  if (list.rows.length === 0 && !list.hasNextPage) {
    const none = endpoints.data?.data.length === 0;
    return (
      <Empty
        icon={Webhook}
        title="No endpoint was told of it"
        actions={
          <Link to="/webhooks" search={none ? { new: 'true' } : {}} className={buttonClass()}>
            {none ? 'Add an endpoint' : 'See the endpoints'}
          </Link>
        }
      >
        {none
          ? 'With a webhook your server learns what became of a message the moment it happens.'
          : 'The endpoints here are off, or not for the events of this message.'}
      </Empty>
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
            endpoint={urls.get(delivery.webhook_id) ?? 'An endpoint'}
          />
        ))}
      </ul>
      <LoadMore {...list} />
    </>
  );
}
