import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { Ban, Plus, SearchX, Trash2 } from 'lucide-react';
import { type Schema, unwrap } from '../../api/client.ts';
import { pageParams, usePaginatedQuery } from '../../api/pagination.ts';
import { runEach } from '../../api/run-each.ts';
import { useApi } from '../../api/use-api.ts';
import { Badge } from '../../components/badge.tsx';
import { Button, IconButton } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ExportMenu } from '../../components/export-menu.tsx';
import { Select } from '../../components/field.tsx';
import { ListCount } from '../../components/list-count.tsx';
import { Page } from '../../components/page.tsx';
import { PaginatedList } from '../../components/paginated-list.tsx';
import {
  AllRowsCheckbox,
  RowCheckbox,
  SelectionBar,
  useRowSelection,
} from '../../components/row-selection.tsx';
import { SavedFilters } from '../../components/saved-filters.tsx';
import { SearchInput } from '../../components/search-input.tsx';
import { Table, Td, Th, Tr } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { TimeRangePicker } from '../../components/time-range-picker.tsx';
import { requestConfirmation } from '../../layout/confirm-dialog.tsx';
import { showErrorToast, showToast } from '../../layout/toasts.tsx';
import { formatCount } from '../../lib/format.ts';
import { type TimeRange, timeQuery } from '../../lib/time-range.ts';
import { useCan, useFormOpen } from '../../session/session.ts';
import { ShellExample } from '../api-keys/send-snippets.tsx';
import { curlSnippet } from '../api-keys/snippet-code.ts';
import { StreamSelect } from '../streams/stream-select.tsx';
import { AddSuppressions } from './add-suppressions.tsx';
import { REASONS, type Reason } from './suppression-reasons.ts';

export type Suppression = Schema<'Suppression'>;

interface SuppressionFilters extends TimeRange {
  q?: string;
  reason?: string;
  stream?: string;
}

export function SuppressionsPage() {
  const { new: adding, ...filters } = useSearch({ from: '/inside/suppressions' });
  const formOpen = useFormOpen(adding !== undefined, 'write:suppressions');
  const { api, key } = useApi();
  const canWrite = useCan()('write:suppressions');
  const navigate = useNavigate();
  const list = usePaginatedQuery(key('suppressions', filters), (cursor) =>
    unwrap(
      api.GET('/api/v1/suppressions', {
        params: { query: { ...pageParams(cursor), ...suppressionQuery(filters) } },
      }),
    ),
  );
  const search = (next: SuppressionFilters & { new?: string }) =>
    void navigate({ to: '/suppressions', search: next, replace: true });
  return (
    <Page
      full
      title="Suppressions"
      description="Addresses we won’t send to. Added automatically after hard bounces and complaints."
      actions={
        <>
          {list.rows.length > 0 && (
            <ExportMenu list="suppressions" filters={suppressionQuery(filters)} />
          )}
          {canWrite && (
            <Button kind="primary" icon={Plus} onClick={() => search({ ...filters, new: 'true' })}>
              Add
            </Button>
          )}
        </>
      }
    >
      <search className="flex flex-wrap items-center gap-2 px-4 pb-3 sm:px-6">
        <SearchInput
          label="Search address or domain"
          value={filters.q ?? ''}
          onChange={(q) => search({ ...filters, q })}
        />
        <div className="w-40">
          <Select
            aria-label="Reason"
            value={filters.reason ?? ''}
            onChange={(event) => search({ ...filters, reason: event.target.value })}
          >
            <option value="">Any reason</option>
            {Object.entries(REASONS).map(([value, { label }]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </Select>
        </div>
        <div className="w-40">
          <StreamSelect
            label="Stream"
            none="Any stream"
            value={filters.stream ?? ''}
            onChange={(next) => search({ ...filters, stream: next })}
          />
        </div>
        <TimeRangePicker range={filters} onChange={(range) => search({ ...filters, ...range })} />
        <SavedFilters list="suppressions" filters={{ ...filters }} onApply={search} />
        <ListCount rows={list.rows} hasNextPage={list.hasNextPage} one="suppression" />
      </search>
      <PaginatedList
        list={list}
        empty={<NoSuppressions filtered={Object.keys(filters).length > 0} />}
      >
        <SuppressionTable rows={list.rows} canWrite={canWrite} />
      </PaginatedList>
      {formOpen && <AddSuppressions onClose={() => search(filters)} />}
    </Page>
  );
}

/** The parameters of the API for these filters. */
function suppressionQuery({ q, reason, stream, ...range }: SuppressionFilters) {
  return {
    ...(q ? { q } : {}),
    ...(reason ? { reason: reason as Reason } : {}),
    ...(stream ? { stream } : {}),
    ...timeQuery(range, Date.now()),
  };
}

/** The padding of the first column, where the checkboxes are hidden. */
const FIRST_ON_PHONES = 'max-md:pl-4 sm:max-md:pl-6';

function SuppressionTable({ rows, canWrite }: { rows: Suppression[]; canWrite: boolean }) {
  const remove = useRemove();
  const removeAll = useRemoveAll();
  const selection = useRowSelection(rows);
  const table = (
    <Table label="Suppressions">
      <thead>
        <tr>
          {canWrite && (
            <Th className="w-px" hideBelow="md">
              <AllRowsCheckbox selection={selection} />
            </Th>
          )}
          <Th className={FIRST_ON_PHONES}>Address</Th>
          <Th>Reason</Th>
          <Th hideBelow="xl">Stream</Th>
          <Th hideBelow="md">Evidence</Th>
          <Th hideBelow="xl">Expires</Th>
          <Th hideBelow="md">Added</Th>
          <Th aria-label="Actions" />
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <Tr key={row.id} {...(selection.has(row.id) && { className: 'bg-accent-wash/50' })}>
            {canWrite && (
              <Td narrow hideBelow="md">
                <RowCheckbox selection={selection} id={row.id} label={nameOf(row)} />
              </Td>
            )}
            <Td className={`min-w-36 font-medium sm:min-w-52 ${FIRST_ON_PHONES}`}>{nameOf(row)}</Td>
            <Td>
              <Badge tone={REASONS[row.reason].tone}>{REASONS[row.reason].label}</Badge>
              {row.stream && <div className="text-xs text-faint xl:hidden">{row.stream}</div>}
            </Td>
            <Td hideBelow="xl" className="min-w-28 text-soft">
              {row.stream ?? 'All'}
            </Td>
            <Td hideBelow="md" className="max-w-56 text-soft xl:min-w-36 2xl:max-w-96">
              <Evidence suppression={row} />
            </Td>
            <Td hideBelow="xl" className="whitespace-nowrap text-soft">
              {row.expires_at ? <Time at={row.expires_at} /> : 'Never'}
            </Td>
            <Td hideBelow="md" className="text-soft">
              <Time at={row.created_at} />
            </Td>
            <Td className="w-px">
              {canWrite && (
                <IconButton
                  icon={Trash2}
                  danger
                  label={`Remove ${nameOf(row)}`}
                  onClick={() => remove(row)}
                />
              )}
            </Td>
          </Tr>
        ))}
      </tbody>
    </Table>
  );
  return (
    <>
      {table}
      <SelectionBar selection={selection}>
        <Button
          size="small"
          kind="danger-quiet"
          icon={Trash2}
          onClick={() => removeAll(selection.ids, selection.clear)}
        >
          Remove
        </Button>
      </SelectionBar>
    </>
  );
}

export function nameOf({ email, domain, erased }: Suppression): string {
  if (email) return email;
  if (domain) return `All addresses at ${domain}`;
  return erased ? 'Erased address' : '';
}

function Evidence({ suppression }: { suppression: Suppression }) {
  const { message_id, smtp, rule, stage } = suppression.evidence ?? {};
  const text = smtp
    ? [smtp.code, smtp.enhanced, smtp.text].filter(Boolean).join(' ')
    : suppression.note;
  if (!text && !message_id) return <span className="text-faint">None</span>;
  return (
    <div className="grid min-w-0">
      {text && (
        <span className={smtp ? 'truncate font-mono text-xs' : 'truncate'} title={text}>
          {text}
        </span>
      )}
      <span className="flex min-w-0 gap-2 text-xs">
        {rule && (
          <span
            className="truncate text-faint"
            title={
              stage
                ? `Decided by this bounce rule, at ${stage.toUpperCase()}`
                : 'Decided by this bounce rule'
            }
          >
            {rule}
          </span>
        )}
        {message_id && (
          <Link
            to="/messages/$id"
            params={{ id: message_id }}
            className="shrink-0 font-medium text-accent-ink hover:underline"
          >
            View message
          </Link>
        )}
      </span>
    </div>
  );
}

function useRemove(): (row: Suppression) => void {
  const { api } = useApi();
  const queries = useQueryClient();
  return (row) =>
    requestConfirmation({
      title: `Remove ${nameOf(row)} from suppressions?`,
      body: (
        <div className="grid gap-2">
          <p>
            Reason: {REASONS[row.reason].label.toLowerCase()}
            {row.stream && ` in the stream ${row.stream}`}, added <Time at={row.created_at} />.
            Sending to addresses that bounce or complain hurts your sender reputation.
          </p>
          <div className="rounded-lg bg-sunken px-3 py-2">
            <Evidence suppression={row} />
          </div>
        </div>
      ),
      confirmLabel: 'Remove',
      run: async () => {
        await unwrap(api.DELETE('/api/v1/suppressions/{id}', { params: { path: { id: row.id } } }));
        await queries.invalidateQueries({ queryKey: ['suppressions'] });
        showToast(`${nameOf(row)} removed.`, {
          label: 'Undo',
          run: () => void restore(row).catch(showErrorToast),
        });
      },
    });
  async function restore(row: Suppression): Promise<void> {
    const { email, domain, stream, reason, note, expires_at } = row;
    await unwrap(
      api.POST('/api/v1/suppressions', {
        body: {
          ...(email ? { email } : { domain: domain ?? '' }),
          ...{ stream, reason, note, expires_at },
        },
      }),
    );
    await queries.invalidateQueries({ queryKey: ['suppressions'] });
  }
}

function useRemoveAll(): (ids: readonly string[], onDone: () => void) => void {
  const { api } = useApi();
  const queries = useQueryClient();
  return (ids, onDone) =>
    requestConfirmation({
      title: `Remove ${formatCount(ids.length, 'suppression')}?`,
      body: 'Sending to these addresses is allowed again. Sending to addresses that bounce or complain hurts your sender reputation.',
      confirmLabel: `Remove ${formatCount(ids.length, 'suppression')}`,
      run: async () => {
        await runEach(
          ids,
          (id) => unwrap(api.DELETE('/api/v1/suppressions/{id}', { params: { path: { id } } })),
          { one: 'suppression', done: 'removed' },
        );
        onDone();
        await queries.invalidateQueries({ queryKey: ['suppressions'] });
      },
    });
}

/** Not the address of other examples, which would no longer be delivered. */
const SUPPRESSION = { email: 'john@example.com', note: 'requested by phone' };

function NoSuppressions({ filtered }: { filtered: boolean }) {
  if (filtered) {
    return (
      <EmptyState icon={SearchX} title="No matches">
        Sending is allowed.
      </EmptyState>
    );
  }
  return (
    <EmptyState
      icon={Ban}
      title="No suppressions"
      example={
        <ShellExample
          scopes={['write:suppressions']}
          code={({ token }) => curlSnippet('/suppressions', token, SUPPRESSION)}
        />
      }
    >
      Addresses appear here after a hard bounce or a spam complaint, with the evidence.
    </EmptyState>
  );
}
