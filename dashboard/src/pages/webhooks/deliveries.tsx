import { Link } from '@tanstack/react-router';
import { SearchX, Send } from 'lucide-react';
import { type Schema, unwrap } from '../../api/client.ts';
import { type Polling, pageParams, usePaginatedQuery } from '../../api/pagination.ts';
import { useApi } from '../../api/use-api.ts';
import { Badge, Dot, StatusBadge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Select } from '../../components/field.tsx';
import { PaginatedList } from '../../components/paginated-list.tsx';
import { Time } from '../../components/time.tsx';
import { useRefetchOnEvents } from '../../layout/live-events.ts';
import { classNames } from '../../lib/class-names.ts';
import { formatCount } from '../../lib/format.ts';
import { EventTypeSelect } from '../events/event-type-select.tsx';
import type { EventType } from '../events/event-types.ts';

export type WebhookDelivery = Schema<'WebhookDelivery'>;

/** The page's search parameters. */
export interface DeliveryFilters {
  status?: string;
  type?: string;
}

/** The deliveries of an endpoint, newest first. */
export function Deliveries({
  webhookId,
  filters,
  onChange,
}: {
  webhookId: string;
  filters: DeliveryFilters;
  onChange: (next: DeliveryFilters) => void;
}) {
  const list = useDeliveries(webhookId, filters);
  const filtered = filters.status !== undefined || filters.type !== undefined;
  return (
    <section aria-labelledby="deliveries">
      <div className="mb-3 flex flex-wrap items-center gap-2">
        <h2 id="deliveries" className="flex-1 basis-full text-sm font-semibold sm:basis-0">
          Deliveries
        </h2>
        <div className="w-32 sm:w-36">
          <Select
            aria-label="Status"
            value={filters.status ?? ''}
            onChange={(event) => onChange({ ...filters, status: event.target.value })}
          >
            <option value="">Any status</option>
            <option value="pending">Pending</option>
            <option value="succeeded">Succeeded</option>
            <option value="failed">Failed</option>
          </Select>
        </div>
        <div className="min-w-44 flex-1 sm:w-48 sm:flex-none">
          <EventTypeSelect
            label="Event type"
            any="Any event"
            value={filters.type ?? ''}
            onChange={(type) => onChange({ ...filters, type })}
          />
        </div>
      </div>
      <div className="overflow-hidden rounded-xl border border-line">
        <PaginatedList
          list={list}
          items="deliveries"
          placeholderRows={16}
          errorClassName="m-4"
          empty={<NoDeliveries filtered={filtered} onClear={() => onChange({})} />}
        >
          <ul className="divide-y divide-line">
            {list.rows.map((delivery) => (
              <DeliveryRow key={delivery.id} delivery={delivery} />
            ))}
          </ul>
        </PaginatedList>
      </div>
    </section>
  );
}

function NoDeliveries({ filtered, onClear }: { filtered: boolean; onClear: () => void }) {
  if (filtered) {
    return (
      <EmptyState
        icon={SearchX}
        title="No deliveries match these filters"
        actions={<Button onClick={onClear}>Clear filters</Button>}
      />
    );
  }
  return (
    <EmptyState icon={Send} title="No deliveries yet">
      The next matching event appears here automatically, with the response of your endpoint.
    </EmptyState>
  );
}

/** An event is delivered a moment after it occurs. */
const DELIVERY_DELAY_MS = 1_000;

/** Retries do not emit events, so poll while deliveries are pending. */
const POLL_PENDING: Polling<WebhookDelivery> = {
  while: (rows) => rows.some(({ status }) => status === 'pending'),
  everyMs: 8_000,
};

/** Refetches deliveries when events occur. */
export function useLiveDeliveries(): void {
  useRefetchOnEvents(['webhook-deliveries', 'webhook'], DELIVERY_DELAY_MS);
}

function useDeliveries(webhookId: string, { status, type }: DeliveryFilters) {
  const { api, key } = useApi();
  useLiveDeliveries();
  return usePaginatedQuery(
    key('webhook-deliveries', webhookId, status, type),
    (cursor) =>
      unwrap(
        api.GET('/api/v1/webhooks/{id}/deliveries', {
          params: {
            path: { id: webhookId },
            query: {
              ...pageParams(cursor),
              ...(status ? { status: status as WebhookDelivery['status'] } : {}),
              ...(type ? { event_type: type as EventType } : {}),
            },
          },
        }),
      ),
    { watch: POLL_PENDING },
  );
}

export function DeliveryRow({
  delivery,
  endpoint,
}: {
  delivery: WebhookDelivery;
  /** The endpoint's URL, in lists that span endpoints. */
  endpoint?: string;
}) {
  const { status, last_status, last_error, tries_count, next_try_at } = delivery;
  return (
    <li className="row-link grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 gap-y-0.5 px-4 py-2.5 text-sm transition-colors hover:bg-sunken has-focus-visible:bg-sunken sm:grid-cols-[6.5rem_minmax(0,1fr)_auto]">
      <span className="order-2 justify-self-end sm:order-none sm:justify-self-start">
        <DeliveryBadge delivery={delivery} />
      </span>
      <span className="order-1 min-w-0 sm:order-none">
        <Link
          to="/webhooks/$id/deliveries/$deliveryId"
          params={{ id: delivery.webhook_id, deliveryId: delivery.id }}
          data-row
          className="cover block truncate font-medium outline-none"
        >
          {endpoint ?? delivery.event_type}
        </Link>
      </span>
      <span className="order-4 col-span-2 flex items-center gap-3 text-xs text-faint sm:order-none sm:col-span-1 sm:justify-end">
        {endpoint !== undefined && <span>{delivery.event_type}</span>}
        {tries_count > 1 && <span>{formatCount(tries_count, 'attempt')}</span>}
        {tries_count > 0 && <HttpStatus status={last_status} />}
        <Time at={delivery.created_at} className="sm:min-w-20 sm:text-right" />
      </span>
      {last_error !== null && status !== 'succeeded' && (
        <span className="order-3 col-span-2 flex min-w-0 flex-wrap gap-x-1 text-xs text-soft sm:order-none sm:col-span-2 sm:col-start-2 sm:flex-nowrap">
          <span className="truncate">{last_error}</span>
          {next_try_at !== null && (
            <span className="shrink-0 text-faint">
              <NextAttempt at={next_try_at} />
            </span>
          )}
        </span>
      )}
    </li>
  );
}

/** Distinguishes a delivery that failed and will be retried from one that was not attempted yet. */
export function DeliveryBadge({ delivery }: { delivery: WebhookDelivery }) {
  const { status, last_error } = delivery;
  if (status !== 'pending' || last_error === null) return <StatusBadge status={status} />;
  return (
    <Badge tone="warn">
      <Dot tone="warn" />
      Retrying
    </Badge>
  );
}

/** When the next attempt is due. A failing endpoint gets one event at a time, so it may run later. */
export function NextAttempt({ at }: { at: string }) {
  if (Date.parse(at) <= Date.now()) return 'Retry due.';
  return (
    <>
      Next attempt <Time at={at} upcoming />.
    </>
  );
}

export function HttpStatus({ status }: { status: number | null }) {
  if (status === null) return <span className="font-mono">No response</span>;
  return (
    <span
      className={classNames('font-mono', status >= 200 && status < 300 ? 'text-good' : 'text-bad')}
    >
      {status}
    </span>
  );
}
