import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { RefreshCw, ScrollText, SearchX } from 'lucide-react';
import { Badge, type Tone } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Select } from '../../components/field.tsx';
import { LogList } from '../../components/log-list.tsx';
import { Page } from '../../components/page.tsx';
import { SearchInput } from '../../components/search-input.tsx';
import { Time } from '../../components/time.tsx';
import { TimeRangePicker } from '../../components/time-range-picker.tsx';
import { classNames } from '../../lib/class-names.ts';
import { formatDuration } from '../../lib/format.ts';
import {
  type LoggedRequest,
  type RequestFilters,
  useApiKeys,
  useRequestActor,
  useRequests,
} from './use-requests.ts';

export function RequestsPage() {
  const filters = useSearch({ from: '/inside/requests' });
  const navigate = useNavigate();
  const list = useRequests(filters);
  const actorName = useRequestActor();
  const change = (next: RequestFilters) =>
    void navigate({ to: '/requests', search: next, replace: true });
  return (
    <Page
      full
      title="Request log"
      description="API requests of your programs, and changes by members."
      actions={
        <Button icon={RefreshCw} onClick={() => void list.refetch()}>
          Refresh
        </Button>
      }
    >
      <RequestFilterBar filters={filters} onChange={change} />
      <LogList
        list={list}
        label="Requests"
        items="requests"
        empty={<NoRequests filtered={Object.keys(filters).length > 0} onClear={() => change({})} />}
        columns={COLUMNS}
        header={
          <>
            <span>Status</span>
            <span>Request</span>
            <span>Sent by</span>
            <span className="text-right">Duration</span>
            <span className="text-right">Time</span>
          </>
        }
      >
        {(request) => (
          <RequestRow key={request.id} request={request} actor={actorName(request.actor)} />
        )}
      </LogList>
    </Page>
  );
}

function RequestFilterBar({
  filters,
  onChange,
}: {
  filters: RequestFilters;
  onChange: (next: RequestFilters) => void;
}) {
  const keys = useApiKeys();
  const set = (name: keyof RequestFilters) => (event: { target: { value: string } }) =>
    onChange({ ...filters, [name]: event.target.value });
  return (
    <search className="flex flex-wrap items-center gap-2 px-4 pb-3 sm:px-6">
      <SearchInput
        label="Search paths or request IDs"
        value={filters.q ?? ''}
        onChange={(q) => onChange({ ...filters, q })}
      />
      <div className="w-36">
        <Select aria-label="Status" value={filters.status ?? ''} onChange={set('status')}>
          <option value="">Any status</option>
          <option value="4xx">4xx: rejected</option>
          <option value="5xx">5xx: failed</option>
          <option value="2xx">2xx: succeeded</option>
          {filters.status && !/xx$/.test(filters.status) && (
            <option value={filters.status}>{filters.status}</option>
          )}
        </Select>
      </div>
      <div className="w-32">
        <Select aria-label="Method" value={filters.method ?? ''} onChange={set('method')}>
          <option value="">Any method</option>
          {['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((method) => (
            <option key={method} value={method}>
              {method}
            </option>
          ))}
        </Select>
      </div>
      {keys.length > 0 && (
        <div className="w-40">
          <Select aria-label="API key" value={filters.key ?? ''} onChange={set('key')}>
            <option value="">Any API key</option>
            {keys.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </Select>
        </div>
      )}
      <TimeRangePicker range={filters} onChange={(range) => onChange({ ...filters, ...range })} />
    </search>
  );
}

/** The columns of the header and of each row. On phones, a row has two lines, or three with a problem. */
const COLUMNS = 'md:grid-cols-[3.5rem_minmax(0,1fr)_minmax(0,10rem)_4.5rem_6.5rem]';

function RequestRow({ request, actor }: { request: LoggedRequest; actor: string }) {
  const { id, method, path, problem_code: code } = request;
  return (
    <li
      className={classNames(
        'row-link grid grid-cols-[2.75rem_minmax(0,1fr)_auto] items-start gap-x-3 gap-y-0.5 px-4 py-2.5 text-sm transition-colors hover:bg-sunken has-focus-visible:bg-sunken sm:px-6 md:items-center',
        COLUMNS,
      )}
    >
      <span>
        <HttpStatusBadge status={request.status} />
      </span>
      <Link
        to="/requests/$id"
        params={{ id }}
        data-row
        className="cover min-w-0 font-mono text-xs outline-none md:truncate"
      >
        <span className="block truncate md:inline">
          <span className="text-soft">{method}</span> {path}
        </span>{' '}
        {code !== null && (
          <span className="block truncate font-sans text-bad md:ml-1 md:inline">{code}</span>
        )}
      </Link>
      <span className="order-last col-span-2 col-start-2 flex min-w-0 gap-x-1.5 text-xs text-soft md:contents">
        <span className="min-w-0 truncate">{actor}</span>
        <span className="text-faint md:hidden" aria-hidden>
          ·
        </span>
        <span className="shrink-0 text-faint md:text-right">
          {formatDuration(request.duration_ms)}
        </span>
      </span>
      <Time at={request.created_at} className="text-right text-xs text-faint" />
    </li>
  );
}

export function HttpStatusBadge({ status }: { status: number }) {
  const tone: Tone = status >= 500 ? 'bad' : status >= 400 ? 'warn' : 'good';
  return <Badge tone={tone}>{status}</Badge>;
}

function NoRequests({ filtered, onClear }: { filtered: boolean; onClear: () => void }) {
  if (filtered) {
    return (
      <EmptyState
        icon={SearchX}
        title="No requests match these filters"
        actions={<Button onClick={onClear}>Clear filters</Button>}
      >
        Live and test mode have separate logs.
      </EmptyState>
    );
  }
  return (
    <EmptyState icon={ScrollText} title="No requests yet">
      Requests with your API keys appear here, with the problem and its fix if one failed.
    </EmptyState>
  );
}
