import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { Inbox, Trash2 } from 'lucide-react';
import { useEffect, useState } from 'react';
import { type Schema, unwrap } from '../../api/client.ts';
import { pageParams, usePaginatedQuery } from '../../api/pagination.ts';
import { refetchQueries } from '../../api/refetch.ts';
import { useApi } from '../../api/use-api.ts';
import { Button, buttonClass, IconButton } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Page } from '../../components/page.tsx';
import { PaginatedList } from '../../components/paginated-list.tsx';
import { SearchInput } from '../../components/search-input.tsx';
import { Time } from '../../components/time.tsx';
import { requestConfirmation } from '../../layout/confirm-dialog.tsx';
import { onLiveEvents } from '../../layout/live-events.ts';
import { showToast } from '../../layout/toasts.tsx';
import { classNames } from '../../lib/class-names.ts';
import { selectMode, useSelection } from '../../session/selection.ts';
import { useCan } from '../../session/session.ts';
import { SendSnippets } from '../api-keys/send-snippets.tsx';
import { InboxMessagePane } from './inbox-message.tsx';
import { useRead } from './read-messages.ts';

type InboxSummary = Schema<'InboxSummary'>;

/** The inbox for test messages: the list on the left, the open message on the right. */
export function TestInboxPage() {
  const { mode } = useSelection();
  return mode === 'test' ? <Mailbox /> : <OnlyInTestMode />;
}

function OnlyInTestMode() {
  return (
    <Page title="Test inbox">
      <EmptyState
        icon={Inbox}
        title="Only available in test mode"
        actions={
          <Button kind="primary" onClick={() => selectMode('test')}>
            Switch to test mode
          </Button>
        }
      >
        The test inbox captures all emails sent with a test key.
      </EmptyState>
    </Page>
  );
}

function Mailbox() {
  const { to, id } = useSearch({ from: '/inside/test-inbox' });
  const { api, key } = useApi();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const list = usePaginatedQuery(key('test-inbox', to), (cursor) =>
    unwrap(
      api.GET('/api/v1/test/inbox', {
        params: { query: { ...pageParams(cursor), ...(to ? { to } : {}) } },
      }),
    ),
  );
  useEffect(
    () =>
      onLiveEvents((events) => {
        const arrived = events.some(({ type }) => type === 'message.delivered');
        if (arrived || events.length === 0) {
          refetchQueries(queries, { queryKey: ['test-inbox'] });
        }
      }),
    [queries],
  );
  const rows = list.rows.filter((row) => !hidden.has(row.id));
  const empty = rows.length === 0 && !list.isPending;
  const nothingYet = empty && !to && id === undefined;
  const open = (next: string | undefined) =>
    void navigate({
      to: '/test-inbox',
      search: { ...(to ? { to } : {}), ...(next ? { id: next } : {}) },
    });
  const hide = (gone: string, on: boolean) => {
    setHidden((now) => {
      const next = new Set(now);
      if (on) next.add(gone);
      else next.delete(gone);
      return next;
    });
    if (on && gone === id) open(undefined);
  };
  return (
    <div className={classNames('flex h-full min-h-0', nothingYet && 'max-md:flex-col')}>
      <div
        data-scroller
        className={classNames(
          'w-full shrink-0 overflow-y-auto md:h-full md:w-80 md:border-r md:border-line lg:w-92',
          !nothingYet && 'h-full',
          id !== undefined && 'hidden md:block',
        )}
      >
        <ListHeader to={to} empty={rows.length === 0} />
        <PaginatedList
          list={{ ...list, rows }}
          errorClassName="m-4"
          empty={
            <p
              className={classNames(
                'px-4 py-10 text-center text-sm text-soft',
                nothingYet && 'hidden md:block',
              )}
            >
              {to ? 'No messages for this address.' : 'No messages yet.'}
            </p>
          }
        >
          <ul aria-label="Messages">
            {rows.map((row) => (
              <InboxRow key={row.id} message={row} to={to} open={row.id === id} />
            ))}
          </ul>
        </PaginatedList>
      </div>
      <div
        data-scroller
        className={classNames(
          'h-full min-w-0 flex-1 overflow-y-auto',
          id === undefined && !nothingYet && 'hidden md:block',
        )}
      >
        {id === undefined ? (
          <NoSelection empty={empty} />
        ) : (
          <InboxMessagePane
            key={id}
            id={id}
            onBack={() => open(undefined)}
            onHide={(on) => hide(id, on)}
          />
        )}
      </div>
    </div>
  );
}

function ListHeader({ to, empty }: { to: string | undefined; empty: boolean }) {
  const { api } = useApi();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const canWrite = useCan()('write:messages');
  useEffect(() => {
    document.title = 'Test inbox · Postrider';
  }, []);
  const clear = () =>
    requestConfirmation({
      title: 'Empty test inbox?',
      body: 'Deletes all test messages of this workspace, for all members.',
      confirmLabel: 'Delete all',
      run: async () => {
        await unwrap(api.DELETE('/api/v1/test/inbox'));
        await queries.invalidateQueries({ queryKey: ['test-inbox'] });
        void navigate({ to: '/test-inbox' });
        showToast('Test inbox emptied.');
      },
    });
  return (
    <div className="sticky top-0 z-10 border-b border-line bg-panel px-4 pt-4 pb-3 sm:pt-5">
      <div className="mb-3 flex items-center">
        <h1 className="flex-1 text-xl font-semibold tracking-tight">Test inbox</h1>
        {canWrite && !empty && (
          <IconButton icon={Trash2} label="Empty test inbox" danger onClick={clear} />
        )}
      </div>
      <SearchInput
        label="Search by recipient"
        complete="address"
        value={to ?? ''}
        onChange={(next) =>
          void navigate({ to: '/test-inbox', search: next ? { to: next } : {}, replace: true })
        }
      />
    </div>
  );
}

function InboxRow({
  message,
  to,
  open,
}: {
  message: InboxSummary;
  to: string | undefined;
  open: boolean;
}) {
  const [read] = useRead(message.id);
  return (
    <li
      className={classNames(
        'row-link border-b border-line px-4 py-2.5 text-sm transition-colors',
        open ? 'bg-accent-wash' : 'hover:bg-sunken',
      )}
    >
      <div className="flex items-baseline gap-2">
        {!read && (
          <span className="size-2 shrink-0 self-center rounded-full bg-accent" aria-hidden />
        )}
        <span
          dir="auto"
          className={classNames('min-w-0 flex-1 truncate text-left', !read && 'font-semibold')}
        >
          {message.from.name || message.from.email}
        </span>
        <Time at={message.arrived_at} className="shrink-0 text-xs text-faint" />
      </div>
      <Link
        to="/test-inbox"
        search={{ ...(to ? { to } : {}), id: message.id }}
        data-row
        aria-current={open || undefined}
        className={classNames('cover block', read ? 'text-soft' : 'font-medium')}
      >
        {!read && <span className="sr-only">Unread: </span>}
        <span dir="auto" className="block truncate text-left">
          {message.subject || 'No subject'}
        </span>
      </Link>
      <div className="truncate text-xs text-faint">
        to {message.to.map(({ email }) => email).join(', ')}
      </div>
    </li>
  );
}

function NoSelection({ empty }: { empty: boolean }) {
  if (!empty) {
    return (
      <EmptyState icon={Inbox} title="Select a message">
        <kbd className="font-mono text-xs">j</kbd> and <kbd className="font-mono text-xs">k</kbd>{' '}
        move through the list, <kbd className="font-mono text-xs">Enter</kbd> opens a message.
      </EmptyState>
    );
  }
  return (
    <EmptyState
      icon={Inbox}
      title="Emails sent with a test key arrive here"
      actions={
        <Link to="/api-keys" search={{ new: 'true' }} className={buttonClass('primary')}>
          Create test key
        </Link>
      }
      example={<SendSnippets mode="test" />}
    >
      Nothing is sent to real recipients. End-to-end tests can wait for a message and read its links
      and codes: <code className="font-mono text-xs">GET /api/v1/test/inbox/wait</code>
    </EmptyState>
  );
}
