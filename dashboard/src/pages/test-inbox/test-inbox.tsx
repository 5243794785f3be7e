import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { Inbox, Trash2 } from 'lucide-react';
import { useEffect, useState } from 'react';
import { askAgain } from '../../api/ask-again.ts';
import { ask, type Schema } from '../../api/client.ts';
import { useHere } from '../../api/here.ts';
import { pageQuery, usePages } from '../../api/use-pages.ts';
import { confirmFirst } from '../../frame/confirm.tsx';
import { onLiveEvents } from '../../frame/live-feed.ts';
import { tell } from '../../frame/toasts.tsx';
import { Button, buttonClass, IconButton } from '../../parts/button.tsx';
import { classNames } from '../../parts/class-names.ts';
import { Snippets } from '../../parts/code-block.tsx';
import { Empty } from '../../parts/empty.tsx';
import { LoadMore } from '../../parts/load-more.tsx';
import { Page } from '../../parts/page.tsx';
import { ProblemNote } from '../../parts/problem-note.tsx';
import { SearchInput } from '../../parts/search-input.tsx';
import { SkeletonRows } from '../../parts/skeleton.tsx';
import { Time } from '../../parts/time.tsx';
import { goToMode, usePlace } from '../../session/place.ts';
import { useMay } from '../../session/session.ts';
import { sendSnippets } from '../api-keys/send-snippets.ts';
import { InboxMessagePane } from './inbox-message.tsx';
import { useRead } from './read-mail.ts';

type InboxSummary = Schema<'InboxSummary'>;

/** Where test mail arrives, like a mailbox: the list on one side, the open mail on the other. */
export function TestInboxPage() {
  const { mode } = usePlace();
  return mode === 'test' ? <Mailbox /> : <OnlyInTestMode />;
}

function OnlyInTestMode() {
  return (
    <Page title="Test inbox">
      <Empty
        icon={Inbox}
        title="Live mail does not end here"
        actions={
          <Button kind="primary" onClick={() => goToMode('test')}>
            Go to test mode
          </Button>
        }
      >
        The test inbox stands for the mailbox of everybody you write to with a test key.
      </Empty>
    </Page>
  );
}

function Mailbox() {
  const { to, id } = useSearch({ from: '/inside/test-inbox' });
  const { api, key } = useHere();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const list = usePages(key('test-inbox', to), (cursor) =>
    ask(
      api.GET('/api/v1/test/inbox', {
        params: { query: { ...pageQuery(cursor), ...(to ? { to } : {}) } },
      }),
    ),
  );
  useEffect(
    () =>
      onLiveEvents((events) => {
        const arrived = events.some(({ type }) => type === 'message.delivered');
        if (arrived || events.length === 0) {
          askAgain(queries, { queryKey: ['test-inbox'] });
        }
      }),
    [queries],
  );
  const rows = list.rows.filter((row) => !hidden.has(row.id));
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
    <div className="flex h-full min-h-0">
      <div
        data-scroller
        className={classNames(
          'h-full w-full shrink-0 overflow-y-auto md:w-80 md:border-r md:border-line lg:w-92',
          id !== undefined && 'hidden md:block',
        )}
      >
        <ListHead to={to} empty={rows.length === 0} />
        {list.isPending ? (
          <SkeletonRows rows={8} />
        ) : list.isLoadingError ? (
          <ProblemNote error={list.error} className="m-4" onRetry={() => void list.refetch()} />
        ) : rows.length === 0 ? (
          <p className="px-4 py-10 text-center text-sm text-soft">
            {to ? 'Nothing arrived for this address.' : 'Nothing has arrived yet.'}
          </p>
        ) : (
          <ul aria-label="Mail">
            {rows.map((row) => (
              <MailRow key={row.id} mail={row} to={to} open={row.id === id} />
            ))}
          </ul>
        )}
        <LoadMore {...list} />
      </div>
      <div
        data-scroller
        className={classNames(
          'h-full min-w-0 flex-1 overflow-y-auto',
          id === undefined && 'hidden md:block',
        )}
      >
        {id === undefined ? (
          <NothingOpen empty={rows.length === 0 && !list.isPending} />
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

function ListHead({ to, empty }: { to: string | undefined; empty: boolean }) {
  const { api } = useHere();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const mayWrite = useMay()('write:messages');
  useEffect(() => {
    document.title = 'Test inbox · Postrider';
  }, []);
  const clear = () =>
    confirmFirst({
      title: 'Empty the test inbox?',
      body: 'All test mail of this workspace is deleted, for everybody who works in it.',
      verb: 'Delete all',
      run: async () => {
        await ask(api.DELETE('/api/v1/test/inbox'));
        await queries.invalidateQueries({ queryKey: ['test-inbox'] });
        void navigate({ to: '/test-inbox' });
        tell('The test inbox is empty.');
      },
    });
  return (
    <div className="sticky top-0 z-10 border-b border-line bg-panel px-4 pt-4 pb-3 sm:pt-5">
      <div className="mb-3 flex items-center">
        <h1 className="flex-1 text-xl font-semibold tracking-tight">Test inbox</h1>
        {mayWrite && !empty && (
          <IconButton icon={Trash2} label="Empty the test inbox" danger onClick={clear} />
        )}
      </div>
      <SearchInput
        label="Mail for an address"
        whole="address"
        value={to ?? ''}
        onChange={(next) =>
          void navigate({ to: '/test-inbox', search: next ? { to: next } : {}, replace: true })
        }
      />
    </div>
  );
}

function MailRow({
  mail,
  to,
  open,
}: {
  mail: InboxSummary;
  to: string | undefined;
  open: boolean;
}) {
  const [read] = useRead(mail.id);
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
        <span className={classNames('min-w-0 flex-1 truncate', !read && 'font-semibold')}>
          {mail.from.name || mail.from.email}
        </span>
        <Time at={mail.arrived_at} className="shrink-0 text-xs text-faint" />
      </div>
      <Link
        to="/test-inbox"
        search={{ ...(to ? { to } : {}), id: mail.id }}
        data-row
        aria-current={open || undefined}
        className={classNames('cover block truncate', read ? 'text-soft' : 'font-medium')}
      >
        {!read && <span className="sr-only">Unread: </span>}
        {mail.subject || 'No subject'}
      </Link>
      <div className="truncate text-xs text-faint">
        to {mail.to.map(({ email }) => email).join(', ')}
      </div>
    </li>
  );
}

function NothingOpen({ empty }: { empty: boolean }) {
  if (!empty) {
    return (
      <Empty icon={Inbox} title="Choose a mail">
        <kbd className="font-mono text-xs">j</kbd> and <kbd className="font-mono text-xs">k</kbd>{' '}
        move through the list.
      </Empty>
    );
  }
  return (
    <Empty
      icon={Inbox}
      title="Everything you send with a test key arrives here"
      actions={
        <Link to="/api-keys" search={{ new: 'true' }} className={buttonClass('primary')}>
          Create a test key
        </Link>
      }
      teach={<Snippets snippets={sendSnippets('pr_test_…')} />}
    >
      Whatever the address, nothing leaves. An end-to-end test can wait for a mail and read its
      links and codes: <code className="font-mono text-xs">GET /api/v1/test/inbox/wait</code>
    </Empty>
  );
}
