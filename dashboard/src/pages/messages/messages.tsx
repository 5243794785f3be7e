import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { Mail, SearchX } from 'lucide-react';
import { apiFor } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { Badge } from '../../components/badge.tsx';
import { Button, buttonClass } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ExportMenu } from '../../components/export-menu.tsx';
import { ListCount } from '../../components/list-count.tsx';
import { Page } from '../../components/page.tsx';
import { PaginatedList } from '../../components/paginated-list.tsx';
import {
  AllRowsCheckbox,
  RowCheckbox,
  type RowSelection,
  useRowSelection,
} from '../../components/row-selection.tsx';
import { Time } from '../../components/time.tsx';
import { VirtualList } from '../../components/virtual-list.tsx';
import { useArrivals } from '../../layout/live-list.ts';
import { classNames } from '../../lib/class-names.ts';
import { useMediaQuery } from '../../lib/use-media-query.ts';
import { selectMode, useSelection } from '../../session/selection.ts';
import { useCan } from '../../session/session.ts';
import { SendSnippets } from '../api-keys/send-snippets.tsx';
import { BulkMessageActions } from './bulk-message-actions.tsx';
import { MessageFilterBar } from './message-filters.tsx';
import { MessageStatus } from './message-status.tsx';
import {
  fetchMessages,
  type MessageFilters,
  type MessageSummary,
  messageQuery,
  useMessages,
} from './use-messages.ts';

const ROW_PX = 44;
const ROW_ON_PHONE_PX = 64;

export function MessagesPage() {
  const filters = useSearch({ from: '/inside/messages' });
  const navigate = useNavigate();
  const list = useMessages(filters);
  const wide = useMediaQuery('(min-width: 48rem)');
  const isNew = useArrivals(list.rows);
  const canWrite = useCan()('write:messages');
  const selection = useRowSelection(list.rows);
  const change = (next: MessageFilters) =>
    void navigate({ to: '/messages', search: next, replace: true });
  return (
    <Page
      full
      title="Messages"
      actions={
        list.rows.length > 0 && <ExportMenu list="messages" filters={messageQuery(filters)} />
      }
    >
      <MessageFilterBar filters={filters} onChange={change}>
        <ListCount rows={list.rows} hasNextPage={list.hasNextPage} one="message" />
      </MessageFilterBar>
      <PaginatedList
        list={list}
        items="messages"
        placeholderRows={12}
        empty={<NoMessages filters={filters} onClear={() => change({})} />}
      >
        <Columns selection={canWrite ? selection : undefined} />
        <VirtualList
          label="Messages"
          rows={list.rows}
          rowHeight={wide ? ROW_PX : ROW_ON_PHONE_PX}
          keyOf={({ id }) => id}
        >
          {(message) => (
            <MessageRow
              message={message}
              arrived={isNew(message.id)}
              searched={filters.recipient ?? filters.q}
              selection={canWrite ? selection : undefined}
            />
          )}
        </VirtualList>
      </PaginatedList>
      <BulkMessageActions rows={list.rows} selection={selection} />
    </Page>
  );
}

/**
 * The columns of the header and of each row. On phones, a row has two lines. The sender is only on wide
 * windows, because it is often the same, and the subject needs the space.
 */
const COLUMNS =
  'md:grid-cols-[7rem_minmax(9rem,15rem)_minmax(0,1fr)_7rem] 2xl:grid-cols-[7rem_minmax(9rem,17rem)_minmax(0,1fr)_13rem_7rem]';
const SELECTABLE_COLUMNS =
  'md:grid-cols-[0.875rem_7rem_minmax(9rem,15rem)_minmax(0,1fr)_7rem] 2xl:grid-cols-[0.875rem_7rem_minmax(9rem,17rem)_minmax(0,1fr)_13rem_7rem]';

/** Rows are links of a list and speak for themselves, so screen readers skip the labels. */
function Columns({ selection }: { selection: RowSelection | undefined }) {
  return (
    <div
      className={classNames(
        'sticky top-0 z-2 hidden h-8 items-center gap-x-3 border-line border-t bg-sunken px-6 text-xs font-medium text-faint md:grid',
        selection ? SELECTABLE_COLUMNS : COLUMNS,
      )}
    >
      {selection && <AllRowsCheckbox selection={selection} />}
      <span aria-hidden>Status</span>
      <span aria-hidden>Recipient</span>
      <span aria-hidden>Subject</span>
      <span aria-hidden className="hidden 2xl:block">
        From
      </span>
      <span aria-hidden className="text-right">
        Accepted
      </span>
    </div>
  );
}

function MessageRow({
  message,
  arrived,
  searched,
  selection,
}: {
  message: MessageSummary;
  arrived: boolean;
  searched: string | undefined;
  selection: RowSelection | undefined;
}) {
  const shown = shownRecipient(message, searched);
  const others = message.recipients.length - 1;
  const explanation = shown?.bounce?.explanation;
  return (
    <div
      className={classNames(
        'row-link grid h-full grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 border-b border-line px-4 text-sm transition-colors hover:bg-sunken has-focus-visible:bg-sunken sm:px-6',
        selection ? SELECTABLE_COLUMNS : COLUMNS,
        arrived && 'arrived',
        selection?.has(message.id) && 'bg-accent-wash/50',
      )}
    >
      {selection && (
        <span className="hidden md:block">
          <RowCheckbox
            selection={selection}
            id={message.id}
            label={message.subject || 'message without subject'}
          />
        </span>
      )}
      <span className="order-2 justify-self-end md:order-none md:justify-self-start">
        <MessageStatus status={message.status} recipients={message.recipients} />
      </span>
      <span className="order-1 min-w-0 truncate font-medium md:order-none">
        {shown?.email}
        {others > 0 && <span className="font-normal text-faint"> +{others}</span>}
      </span>
      <span className="order-3 flex min-w-0 items-center gap-2 md:order-none">
        <Link
          to="/messages/$id"
          params={{ id: message.id }}
          data-row
          className="cover flex h-5 min-w-0 scroll-mt-12 flex-wrap items-baseline gap-x-2 overflow-hidden text-soft md:text-ink"
        >
          <span
            dir="auto"
            className={classNames(
              'max-w-full truncate text-left',
              message.subject === '' && 'text-faint',
            )}
          >
            {message.subject || 'No subject'}
          </span>
          {/* Without room for its first words, it wraps out of sight. */}
          {explanation !== undefined && (
            <bdi className="min-w-0 flex-1 basis-32 truncate text-xs leading-5 text-faint">
              {firstSentence(explanation)}
            </bdi>
          )}
        </Link>
        <span className="ml-auto hidden max-w-1/2 shrink-0 items-center gap-1 overflow-hidden xl:flex">
          {message.tags.slice(0, 2).map((tag) => (
            <Badge key={tag}>
              <bdi className="max-w-32 truncate">{tag}</bdi>
            </Badge>
          ))}
        </span>
      </span>
      <span className="hidden truncate text-xs text-soft 2xl:block">{message.from.email}</span>
      <Time
        at={message.created_at}
        className="order-4 text-right text-xs text-faint md:order-none"
      />
    </div>
  );
}

/** The recipient that matches the search, or complained, or has the message's status, or the first one. */
function shownRecipient({ recipients, status }: MessageSummary, searched: string | undefined) {
  const text = searched?.toLowerCase();
  return (
    (text && recipients.find(({ email }) => email.toLowerCase().includes(text))) ||
    recipients.find(({ complained_at: at }) => at !== null) ||
    recipients.find((recipient) => recipient.status === status) ||
    recipients[0]
  );
}

function firstSentence(text: string): string {
  return text.replace(/(?<=\.)\s.*$/s, '');
}

function NoMessages({ filters, onClear }: { filters: MessageFilters; onClear: () => void }) {
  const { mode } = useSelection();
  if (Object.keys(filters).length > 0) return <NoMatches filters={filters} onClear={onClear} />;
  return (
    <EmptyState
      icon={Mail}
      title={mode === 'live' ? 'No live messages yet' : 'No test messages yet'}
      actions={
        <Link to="/api-keys" search={{ new: 'true' }} className={buttonClass('primary')}>
          Create API key
        </Link>
      }
      example={<SendSnippets mode={mode} />}
    >
      Send one and it appears here automatically, with its delivery status.
    </EmptyState>
  );
}

/** Says so if matching messages exist in the other mode. */
function NoMatches({ filters, onClear }: { filters: MessageFilters; onClear: () => void }) {
  const { selection } = useApi();
  const other = selection.mode === 'live' ? 'test' : 'live';
  const otherMode = useQuery({
    queryKey: ['messages', selection.workspaceId, other, filters, 'elsewhere'],
    queryFn: () => fetchMessages(apiFor({ ...selection, mode: other }), filters, undefined),
    retry: false,
  });
  const foundInOther = (otherMode.data?.data.length ?? 0) > 0;
  return (
    <EmptyState
      icon={SearchX}
      title="No messages match these filters"
      actions={
        <>
          {foundInOther && (
            <Button kind="primary" onClick={() => selectMode(other)}>
              Switch to {other} mode
            </Button>
          )}
          <Button onClick={onClear}>Clear filters</Button>
        </>
      }
    >
      {foundInOther
        ? `You’re in ${selection.mode} mode. Matching messages exist in ${other} mode.`
        : 'Messages are searchable until their retention period ends.'}
    </EmptyState>
  );
}
