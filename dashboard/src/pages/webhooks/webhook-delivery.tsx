import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { Repeat } from 'lucide-react';
import { useState } from 'react';
import { ask, type Schema } from '../../api/client.ts';
import { useHere } from '../../api/here.ts';
import { problemOf } from '../../api/problem.ts';
import { NotHere } from '../../frame/not-here.tsx';
import { Button } from '../../parts/button.tsx';
import { CodeBlock } from '../../parts/code-block.tsx';
import { CopyCode } from '../../parts/copy.tsx';
import { Fact, Facts, Page, Section } from '../../parts/page.tsx';
import { Note, ProblemNote } from '../../parts/problem-note.tsx';
import { count } from '../../parts/size.ts';
import { SkeletonPage } from '../../parts/skeleton.tsx';
import { Time } from '../../parts/time.tsx';
import { useMay } from '../../session/session.ts';
import { prettyJson } from '../events/pretty-json.ts';
import { DeliveryBadge } from './deliveries.tsx';
import { EndpointUrl } from './endpoint-state.tsx';
import { ReplayOne } from './replay.tsx';
import { Try } from './try.tsx';
import { useWebhook } from './webhook.tsx';

type Delivery = Schema<'WebhookDeliveryWithTries'>;

const WATCH_MS = 3_000;

export function WebhookDeliveryPage() {
  const { id, deliveryId } = useParams({ from: '/inside/webhooks/$id/deliveries/$deliveryId' });
  const { api, key } = useHere();
  const mayWrite = useMay()('write:webhooks');
  const [replaying, setReplaying] = useState(false);
  const webhook = useWebhook(id);
  const delivery = useQuery({
    queryKey: key('webhook-deliveries', id, deliveryId),
    queryFn: () =>
      ask(
        api.GET('/api/v1/webhooks/{id}/deliveries/{delivery_id}', {
          params: { path: { id, delivery_id: deliveryId } },
        }),
      ),
    // Somebody who replayed it waits for the answer.
    refetchInterval: ({ state }) => (state.data?.status === 'pending' ? WATCH_MS : false),
  });
  const back = { to: `/webhooks/${id}`, label: 'Endpoint' };
  if (delivery.isPending) return <SkeletonPage />;
  if (delivery.isError && problemOf(delivery.error).status === 404) {
    return <NotHere what="webhook delivery" back={back} modes />;
  }
  if (delivery.isError) {
    return (
      <Page title="Webhook delivery" back={back}>
        <ProblemNote error={delivery.error} onRetry={() => void delivery.refetch()} />
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
        mayWrite && (
          <Button icon={Repeat} onClick={() => setReplaying(true)}>
            Send again
          </Button>
        )
      }
    >
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-6 xl:grid-cols-[minmax(0,1fr)_19rem]">
        <div className="grid min-w-0 gap-5">
          <Outcome delivery={delivery.data} />
          <section className="grid gap-3" aria-labelledby="tries">
            <h2 id="tries" className="text-sm font-semibold">
              {tries.length === 0 ? 'Not tried yet' : count(tries.length, 'try', 'tries')}
            </h2>
            {tries.toReversed().map((one, index) => (
              <Try key={one.number} one={one} open={index === 0} />
            ))}
          </section>
          <section aria-labelledby="body" className="grid gap-3">
            <h2 id="body" className="text-sm font-semibold">
              Body <span className="font-normal text-faint">the same at every try</span>
            </h2>
            {delivery.data.body === null ? (
              <p className="text-sm text-soft">The event is past its retention.</p>
            ) : (
              <CodeBlock label="body" code={prettyJson(delivery.data.body)} wrap />
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

/** What came of it, and what happens next. */
function Outcome({ delivery }: { delivery: Delivery }) {
  const { status, last_error, next_try_at, tries_count } = delivery;
  if (status === 'succeeded') return null;
  if (status === 'failed') {
    return (
      <Note tone="bad" title={last_error ?? 'It was given up.'}>
        <p>
          Given up after {count(tries_count, 'try', 'tries')}. Mend the receiver, then send it
          again: the event keeps its id.
        </p>
      </Note>
    );
  }
  if (last_error === null) return null;
  return (
    <Note tone="warn" title={last_error}>
      <p>
        {next_try_at === null ? (
          'It is being tried right now.'
        ) : (
          <>
            Next try <Time at={next_try_at} />, by itself.
          </>
        )}
      </p>
    </Note>
  );
}

function Details({ delivery }: { delivery: Delivery }) {
  return (
    <Section title="Details">
      <Facts>
        <Fact name="Delivery">
          <CopyCode text={delivery.id} />
        </Fact>
        <Fact name="Event">
          <CopyCode text={delivery.event_id} />
        </Fact>
        {delivery.message_id !== null && (
          <Fact name="Message">
            <Link
              to="/messages/$id"
              params={{ id: delivery.message_id }}
              className="block truncate font-mono text-xs text-accent-ink hover:underline"
            >
              {delivery.message_id}
            </Link>
          </Fact>
        )}
        <Fact name="Begun">
          <Time at={delivery.created_at} />
        </Fact>
        {delivery.finished_at !== null && (
          <Fact name="Finished">
            <Time at={delivery.finished_at} />
          </Fact>
        )}
      </Facts>
    </Section>
  );
}
