import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { Building2, Plus } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { type Schema, unwrap } from '../../api/client.ts';
import { pageParams, usePaginatedQuery } from '../../api/pagination.ts';
import { ErrorAlert } from '../../components/alert.tsx';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { NameDialog } from '../../components/dialog-form.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Checkbox } from '../../components/field.tsx';
import { Page } from '../../components/page.tsx';
import { PaginatedList } from '../../components/paginated-list.tsx';
import { NoSearchResults, SearchInput } from '../../components/search-input.tsx';
import { Table, Td, Th, Tr } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { formatCompact, formatNumber } from '../../lib/format.ts';
import { useOperatorApi } from './operator-session.ts';

type ListedWorkspace = Schema<'ListedWorkspace'>;
type ServerStatus = Schema<'ServerStatus'>;

/** All workspaces of the server, and how the server is doing. */
export function OperatorWorkspacesPage() {
  const { q = '', suspended } = useSearch({ from: '/operator/' });
  const navigate = useNavigate();
  const api = useOperatorApi();
  const [creating, setCreating] = useState(false);
  const filter = (change: { q?: string; suspended?: string }) =>
    void navigate({
      to: '/operator',
      search: { q, ...(suspended ? { suspended } : {}), ...change },
      replace: true,
    });
  const list = usePaginatedQuery(['operator', 'workspaces', { q, suspended }], (cursor) =>
    unwrap(
      api.GET('/api/v1/operator/workspaces', {
        params: {
          query: {
            ...pageParams(cursor),
            ...(q ? { q } : {}),
            ...(suspended ? { suspended: true } : {}),
          },
        },
      }),
    ),
  );
  return (
    <Page
      full
      title="Workspaces"
      actions={
        <Button kind="primary" icon={Plus} onClick={() => setCreating(true)}>
          Create workspace
        </Button>
      }
    >
      <Status />
      <search className="flex flex-wrap items-center gap-4 px-4 pb-3 sm:px-6">
        <SearchInput label="Search by name" value={q} onChange={(text) => filter({ q: text })} />
        <Checkbox
          label="Suspended only"
          checked={suspended !== undefined}
          onChange={(on) => filter({ suspended: on ? 'true' : '' })}
        />
      </search>
      <PaginatedList
        list={list}
        empty={
          <NoWorkspaces
            q={q}
            suspended={suspended !== undefined}
            onClear={() => filter({ q: '', suspended: '' })}
          />
        }
      >
        <WorkspaceTable workspaces={list.rows} />
      </PaginatedList>
      {creating && <CreateWorkspace onClose={() => setCreating(false)} />}
    </Page>
  );
}

function NoWorkspaces({
  q,
  suspended,
  onClear,
}: {
  q: string;
  suspended: boolean;
  onClear: () => void;
}) {
  if (q !== '') {
    return (
      <NoSearchResults
        what={suspended ? 'suspended workspace' : 'workspace'}
        text={q}
        where="the names of workspaces"
        onClear={onClear}
      />
    );
  }
  return (
    <EmptyState
      icon={Building2}
      title={suspended ? 'No suspended workspaces' : 'No workspaces yet'}
    />
  );
}

function WorkspaceTable({ workspaces }: { workspaces: ListedWorkspace[] }) {
  return (
    <Table label="Workspaces">
      <thead>
        <tr>
          <Th>Workspace</Th>
          <Th>State</Th>
          <Th className="text-right">Messages this month</Th>
          <Th hideBelow="md">Created</Th>
        </tr>
      </thead>
      <tbody>
        {workspaces.map((workspace) => (
          <Tr key={workspace.id}>
            <Td>
              <Link
                to="/operator/workspaces/$id"
                params={{ id: workspace.id }}
                className="font-medium hover:underline"
              >
                {workspace.name}
              </Link>
            </Td>
            <Td>
              <span className="flex flex-wrap gap-1">
                <WorkspaceState {...workspace} />
              </span>
            </Td>
            <Td className="text-right tabular-nums">
              {formatNumber(workspace.messages_this_month)}
            </Td>
            <Td hideBelow="md" className="text-soft">
              <Time at={workspace.created_at} />
            </Td>
          </Tr>
        ))}
      </tbody>
    </Table>
  );
}

export function WorkspaceState({
  suspended,
  deletion,
  brake,
}: Pick<ListedWorkspace, 'suspended' | 'deletion' | 'brake'>) {
  if (deletion) return <Badge tone="bad">Being deleted</Badge>;
  if (brake === 'paused') return <Badge tone="bad">Paused</Badge>;
  if (suspended) return <Badge tone="bad">Suspended</Badge>;
  if (brake === 'slowed') return <Badge tone="warn">Slowed down</Badge>;
  return <Badge tone="good">Active</Badge>;
}

/** Not more often, because the server adds up a day of all workspaces. */
const REFRESH_MS = 60_000;

function Status() {
  const api = useOperatorApi();
  const { data, error } = useQuery({
    queryKey: ['operator', 'status'],
    queryFn: () => unwrap(api.GET('/api/v1/operator/status')),
    refetchInterval: REFRESH_MS,
  });
  if (error) return <ErrorAlert error={error} className="mx-4 mb-3 sm:mx-6" />;
  if (!data) return null;
  return (
    <dl className="grid grid-cols-2 gap-3 px-4 pb-4 sm:px-6 md:grid-cols-4">
      <Tile name="Workspaces" value={formatNumber(data.workspaces.total)}>
        {describeStates(data.workspaces)}
      </Tile>
      <Tile name="Messages in 24 hours" value={formatCompact(data.last_24_hours.messages)}>
        {describeRates(data.last_24_hours)}
      </Tile>
      <Tile
        name="Queue"
        value={`${formatCompact(queueLength(data.queue))}${data.queue.more ? '+' : ''}`}
      >
        {data.queue.oldest_due_at === null ? (
          'No delivery is late.'
        ) : (
          <>
            Oldest due <Time at={data.queue.oldest_due_at} />
          </>
        )}
      </Tile>
      <Tile name="Delivery nodes" value={formatNumber(data.nodes)}>
        Postrider {data.version}
      </Tile>
    </dl>
  );
}

function Tile({ name, value, children }: { name: string; value: string; children: ReactNode }) {
  return (
    <div className="rounded-xl border border-line p-3">
      <dt className="text-xs text-faint">{name}</dt>
      <dd>
        <span className="block text-xl font-semibold tabular-nums">{value}</span>
        <span className="text-xs text-soft">{children}</span>
      </dd>
    </div>
  );
}

function describeStates({ suspended, slowed, deleting }: ServerStatus['workspaces']): string {
  return `${suspended} suspended, ${slowed} slowed down, ${deleting} being deleted`;
}

function describeRates({ delivered, bounced, complained }: ServerStatus['last_24_hours']): string {
  const ended = delivered + bounced;
  if (ended === 0) return 'Nothing delivered.';
  const percent = (part: number, whole: number): string =>
    `${Number(((100 * part) / Math.max(1, whole)).toFixed(2))}%`;
  return `${percent(bounced, ended)} bounced, ${percent(complained, delivered)} complained`;
}

function queueLength({ queued, deferred, scheduled }: ServerStatus['queue']): number {
  return queued + deferred + scheduled;
}

function CreateWorkspace({ onClose }: { onClose: () => void }) {
  const api = useOperatorApi();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const create = async (name: string) => {
    const { id } = await unwrap(api.POST('/api/v1/operator/workspaces', { body: { name } }));
    await queries.invalidateQueries({ queryKey: ['operator'] });
    onClose();
    void navigate({ to: '/operator/workspaces/$id', params: { id } });
  };
  return (
    <NameDialog title="Create workspace" submitLabel="Create" onSubmit={create} onClose={onClose} />
  );
}
