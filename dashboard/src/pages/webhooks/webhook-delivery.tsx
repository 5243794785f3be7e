import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { Repeat } from 'lucide-react';
import { useState } from 'react';
import { type Schema, unwrap } from '../../api/client.ts';
import { toProblem } from '../../api/problem.ts';
import { useApi } from '../../api/use-api.ts';
import { Alert, ErrorAlert } from '../../components/alert.tsx';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { CopyCode } from '../../components/copy.tsx';
import { Detail, DetailList, Page, Section } from '../../components/page.tsx';
import { SkeletonPage } from '../../components/skeleton.tsx';
import { Time } from '../../components/time.tsx';
import { NotFound } from '../../layout/not-found.tsx';
import { formatCount, formatJson } from '../../lib/format.ts';
import { useCan } from '../../session/session.ts';
import { DeliveryBadge, NextAttempt } from './deliveries.tsx';
import { DeliveryAttempt } from './delivery-attempt.tsx';
import { EndpointUrl } from './endpoint-status.tsx';
import { ReplayOne } from './replay.tsx';
import { useWebhook } from './webhook.tsx';

type Delivery = Schema<'WebhookDeliveryWithTries'>;

const POLL_MS = 3_000;

export function WebhookDeliveryPage() {
  const { id, deliveryId } = useParams({ from: '/inside/webhooks/$id/deliveries/$deliveryId' });
  const { api, key } = useApi();
  const canWrite = useCan()('write:webhooks');
  const [replaying, setReplaying] = useState(false);
  const webhook = useWebhook(id);
  const delivery = useQuery({
    queryKey: key('webhook-deliveries', id, deliveryId),
    queryFn: () =>
      unwrap(
        api.GET('/api/v1/webhooks/{id}/deliveries/{delivery_id}', {
          params: { path: { id, delivery_id: deliveryId } },
        }),
      ),
    // Poll while pending, for example after a replay.
    refetchInterval: ({ state }) => (state.data?.status === 'pending' ? POLL_MS : false),
  });
  const back = { to: `/webhooks/${id}`, label: 'Endpoint' };
  if (delivery.isPending) return <SkeletonPage />;
  if (delivery.isError && toProblem(delivery.error).status === 404) {
    return <NotFound what="webhook delivery" back={back} modes />;
  }
  if (delivery.isError) {
    return (
      <Page title="Webhook delivery" back={back}>
        <ErrorAlert error={delivery.error} onRetry={() => void delivery.refetch()} />
      </Page>
    );
  }
  const { event_type, tries } = delivery.data;
  return (
    <Page
      title={event_type}
      back={back}
      description={
        <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <DeliveryBadge delivery={delivery.data} />
          <span className="min-w-0 break-all">
            {webhook.data && <EndpointUrl url={webhook.data.url} />}
          </span>
          <Time at={delivery.data.created_at} className="text-faint" />
        </span>
      }
      actions={
        canWrite && (
          <Button icon={Repeat} onClick={() => setReplaying(true)}>
            Send again
          </Button>
        )
      }
    >
      <div className="grid items-start gap-6 xl:grid-cols-[minmax(0,1fr)_19rem]">
        <div className="grid min-w-0 gap-5">
          <DeliveryStatus delivery={delivery.data} />
          <section className="grid gap-3" aria-labelledby="tries">
            <h2 id="tries" className="text-sm font-semibold">
              {tries.length === 0 ? 'No attempts yet' : formatCount(tries.length, 'attempt')}
            </h2>
            {tries.toReversed().map((one, index) => (
              <DeliveryAttempt key={one.number} one={one} open={index === 0} />
            ))}
          </section>
          <section aria-labelledby="body" className="grid gap-3">
            <h2 id="body" className="text-sm font-semibold">
              Payload <span className="font-normal text-faint">identical on every attempt</span>
            </h2>
            {delivery.data.body === null ? (
              <p className="text-sm text-soft">The event was deleted after its retention period.</p>
            ) : (
              <CodeBlock
                label="Payload"
                language="json"
                code={formatJson(delivery.data.body)}
                wrap
              />
            )}
          </section>
        </div>
        <Details delivery={delivery.data} />
      </div>
      {replaying && webhook.data && (
        <ReplayOne
          webhook={webhook.data}
          delivery={delivery.data}
          onClose={() => setReplaying(false)}
        />
      )}
    </Page>
  );
}

/** Explains a failed or retrying delivery. */
function DeliveryStatus({ delivery }: { delivery: Delivery }) {
  const { status, last_error, next_try_at, tries_count } = delivery;
  if (status === 'succeeded') return null;
  if (status === 'failed') {
    return (
      <Alert tone="bad" title={last_error ?? 'Delivery failed.'}>
        <p>
          Failed after {formatCount(tries_count, 'attempt')}. Fix your endpoint, then send the event
          again. It keeps its ID.
        </p>
      </Alert>
    );
  }
  if (last_error === null) return null;
  return (
    <Alert tone="warn" title={last_error}>
      <p>{next_try_at === null ? 'Retrying now.' : <NextAttempt at={next_try_at} />}</p>
    </Alert>
  );
}

function Details({ delivery }: { delivery: Delivery }) {
  return (
    <Section title="Details">
      <DetailList>
        <Detail name="Delivery">
          <CopyCode text={delivery.id} />
        </Detail>
        <Detail name="Event">
          <CopyCode text={delivery.event_id} />
        </Detail>
        {delivery.message_id !== null && (
          <Detail name="Message">
            <Link
              to="/messages/$id"
              params={{ id: delivery.message_id }}
              className="block truncate font-mono text-xs text-accent-ink hover:underline"
            >
              {delivery.message_id}
            </Link>
          </Detail>
        )}
        <Detail name="Created">
          <Time at={delivery.created_at} />
        </Detail>
        {delivery.finished_at !== null && (
          <Detail name="Finished">
            <Time at={delivery.finished_at} />
          </Detail>
        )}
      </DetailList>
    </Section>
  );
}
