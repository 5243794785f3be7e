import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { ChevronRight, History, SearchX } from 'lucide-react';
import { useState } from 'react';
import { type Schema, unwrap } from '../../api/client.ts';
import { pageParams, usePaginatedQuery } from '../../api/pagination.ts';
import { useApi } from '../../api/use-api.ts';
import { Button } from '../../components/button.tsx';
import { CodeBlock } from '../../components/code-block.tsx';
import { CopyCode } from '../../components/copy.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Select } from '../../components/field.tsx';
import { LogList } from '../../components/log-list.tsx';
import { Detail, DetailList, Page } from '../../components/page.tsx';
import { ExactTime, Time } from '../../components/time.tsx';
import { TimeRangePicker } from '../../components/time-range-picker.tsx';
import { classNames } from '../../lib/class-names.ts';
import { type TimeRange, timeQuery } from '../../lib/time-range.ts';
import { useCan } from '../../session/session.ts';
import { useApiKeys } from '../requests/use-requests.ts';
import { useMembers } from '../team/actor-name.ts';
import { actionLabel } from './action-label.ts';
import { targetName } from './target-name.ts';

type AuditEntry = Schema<'AuditEntry'>;

/** The page's search parameters. */
interface AuditFilters extends TimeRange {
  actor?: string;
  action?: string;
}

export function AuditLogPage() {
  const filters = useSearch({ from: '/inside/audit-log' });
  const navigate = useNavigate();
  const list = useAuditLog(filters);
  const [open, setOpen] = useState<string>();
  const change = (next: AuditFilters) =>
    void navigate({ to: '/audit-log', search: next, replace: true });
  return (
    <Page
      full
      title="Audit log"
      description="Changes by members, API keys and the command line. Entries can’t be edited."
    >
      <AuditFilterBar filters={filters} onChange={change} />
      <LogList
        list={list}
        label="Audit log"
        items="entries"
        empty={<NoEntries filtered={Object.keys(filters).length > 0} onClear={() => change({})} />}
        columns={COLUMNS}
        header={
          <>
            <span className="size-4" />
            <span>Change</span>
            <span>Target</span>
            <span>Made by</span>
            <span className="text-right">Time</span>
          </>
        }
      >
        {(entry) => (
          <EntryRow
            key={entry.id}
            entry={entry}
            open={open === entry.id}
            onToggle={() => setOpen(open === entry.id ? undefined : entry.id)}
          />
        )}
      </LogList>
    </Page>
  );
}

function useAuditLog(filters: AuditFilters) {
  const { actor, action, ...range } = filters;
  const { api, key } = useApi();
  return usePaginatedQuery(key('audit-log', filters), (cursor) =>
    unwrap(
      api.GET('/api/v1/audit-log', {
        params: {
          query: {
            ...pageParams(cursor),
            ...(actor ? { actor } : {}),
            ...(action ? { action } : {}),
            ...timeQuery(range, Date.now()),
          },
        },
      }),
    ),
  );
}

function AuditFilterBar({
  filters,
  onChange,
}: {
  filters: AuditFilters;
  onChange: (next: AuditFilters) => void;
}) {
  const members = useMembers();
  const keys = useApiKeys();
  const set = (name: keyof AuditFilters) => (event: { target: { value: string } }) =>
    onChange({ ...filters, [name]: event.target.value });
  return (
    <search className="flex flex-wrap items-center gap-2 px-4 pb-3 sm:px-6">
      <div className="w-48">
        <Select aria-label="Actor" value={filters.actor ?? ''} onChange={set('actor')}>
          <option value="">Anyone</option>
          <option value="cli">Command line</option>
          {members.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
          {keys.map(({ id, name }) => (
            <option key={id} value={id}>
              API key {name}
            </option>
          ))}
        </Select>
      </div>
      <TimeRangePicker range={filters} onChange={(range) => onChange({ ...filters, ...range })} />
      {filters.action && (
        <Button onClick={() => onChange({ ...filters, action: '' })}>
          {actionLabel(filters.action)} ×
        </Button>
      )}
    </search>
  );
}

/** The columns of the header and of each row. On phones, a row has two lines. */
const COLUMNS = 'md:grid-cols-[auto_minmax(0,14rem)_minmax(0,1fr)_minmax(0,12rem)_6.5rem]';

function EntryRow({
  entry,
  open,
  onToggle,
}: {
  entry: AuditEntry;
  open: boolean;
  onToggle: () => void;
}) {
  const { action, target } = entry;
  const name = targetName(entry);
  return (
    <li className="text-sm">
      <button
        type="button"
        data-row
        aria-expanded={open}
        onClick={onToggle}
        className={classNames(
          'grid w-full grid-cols-[auto_minmax(0,1fr)_auto] items-center gap-x-3 px-4 py-2.5 text-left transition-colors hover:bg-sunken focus-visible:bg-sunken sm:px-6',
          COLUMNS,
        )}
      >
        <ChevronRight
          className={classNames('size-4 text-faint transition-transform', open && 'rotate-90')}
          aria-hidden
        />
        <span className="min-w-0 truncate font-medium">
          {actionLabel(action)}
          {entry.outcome === 'unknown' && <span className="text-warn"> (outcome unknown)</span>}
        </span>
        <span className="order-last col-span-2 col-start-2 flex min-w-0 text-xs text-soft md:contents">
          <span className="flex min-w-0 gap-x-2 md:order-none">
            {name !== undefined && (
              <span className="truncate text-ink md:max-w-[60%] md:shrink-0">{name}</span>
            )}
            {/* On phones, the name says enough. */}
            <span
              className={classNames(
                'min-w-0 truncate font-mono',
                name !== undefined && 'hidden md:inline',
              )}
            >
              {target}
            </span>
          </span>
          {target !== null && (
            <span className="shrink-0 px-1.5 text-faint md:hidden" aria-hidden>
              ·
            </span>
          )}
          <span className="max-w-[60%] shrink-0 truncate md:max-w-none md:shrink">
            {actorLabel(entry)}
          </span>
        </span>
        <Time at={entry.created_at} className="text-right text-xs text-faint" />
      </button>
      {open && <EntryDetails entry={entry} />}
    </li>
  );
}

function actorLabel({ actor }: AuditEntry): string {
  if (actor.type === 'cli') return 'Command line';
  const name = actor.name ?? actor.id ?? '';
  if (actor.type === 'operator_key') return 'Operator';
  return actor.type === 'api_key' ? `API key ${name}` : name;
}

function EntryDetails({ entry }: { entry: AuditEntry }) {
  const canReadRequests = useCan()('read:logs');
  const { target, request_id: requestId, ip, user_agent: agent, details } = entry;
  return (
    <div className="grid gap-4 px-4 pt-1 pb-4 sm:px-6 md:pl-13">
      <DetailList>
        <Detail name="Time">
          <ExactTime at={entry.created_at} />
        </Detail>
        <Detail name="Actor">{actorLabel(entry)}</Detail>
        {target !== null && (
          <Detail name="Target">
            <CopyCode text={target} />
          </Detail>
        )}
        {entry.mode !== null && <Detail name="Mode">{entry.mode}</Detail>}
        {ip !== null && (
          <Detail name="IP address">
            <CopyCode text={ip} />
          </Detail>
        )}
        {agent !== null && agent !== '' && <Detail name="User agent">{agent}</Detail>}
        {requestId !== null && (
          <Detail name="Request">
            {canReadRequests && entry.mode !== null ? (
              <Link
                to="/requests/$id"
                params={{ id: requestId }}
                className="block truncate font-mono text-xs text-accent-ink hover:underline"
              >
                {requestId}
              </Link>
            ) : (
              <CopyCode text={requestId} />
            )}
          </Detail>
        )}
      </DetailList>
      {Object.keys(details).length > 0 && (
        <CodeBlock label="Details" code={JSON.stringify(details, null, 2)} wrap />
      )}
    </div>
  );
}

function NoEntries({ filtered, onClear }: { filtered: boolean; onClear: () => void }) {
  if (!filtered) {
    return (
      <EmptyState icon={History} title="No changes yet">
        Changes to this workspace and sign-ins of its members appear here.
      </EmptyState>
    );
  }
  return (
    <EmptyState
      icon={SearchX}
      title="No entries match these filters"
      actions={<Button onClick={onClear}>Clear filters</Button>}
    />
  );
}
