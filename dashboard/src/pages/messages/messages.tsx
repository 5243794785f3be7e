import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { Mail, SearchX } from 'lucide-react';
import { useEffect, useRef } from 'react';
import { apiFor } from '../../api/client.ts';
import { useApi } from '../../api/use-api.ts';
import { useMediaQuery } from '../../lib/use-media-query.ts';
import { Badge, StatusBadge } from '../../components/badge.tsx';
import { Button, buttonClass } from '../../components/button.tsx';
import { classNames } from '../../lib/class-names.ts';
import { Snippets } from '../../components/code-block.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { LoadMore } from '../../components/load-more.tsx';
import { Page } from '../../components/page.tsx';
import { ErrorAlert } from '../../components/alert.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Time } from '../../components/time.tsx';
import { VirtualList } from '../../components/virtual-list.tsx';
import { selectMode, useSelection } from '../../session/selection.ts';
import { sendSnippets } from '../api-keys/send-snippets.ts';
import { MessageFilterBar } from './message-filters.tsx';
import {
  fetchMessages,
  type MessageFilters,
  type MessageSummary,
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
  const change = (next: MessageFilters) =>
    void navigate({ to: '/messages', search: next, replace: true });
  return (
    <Page full title="Messages">
      <MessageFilterBar filters={filters} onChange={change} />
      {list.isPending ? (
        <SkeletonRows rows={12} />
      ) : list.isLoadingError ? (
        <ErrorAlert
          error={list.error}
          className="mx-4 sm:mx-6"
          onRetry={() => void list.refetch()}
        />
      ) : list.rows.length === 0 && !list.hasNextPage ? (
        <NoMessages filters={filters} onClear={() => change({})} />
      ) : (
        <>
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
                wanted={filters.recipient ?? filters.q}
              />
            )}
          </VirtualList>
          <LoadMore {...list} label={list.rows.length === 0 ? 'Look further back' : 'Load more'} />
        </>
      )}
    </Page>
  );
}

function MessageRow({
  message,
  arrived,
  wanted,
}: {
  message: MessageSummary;
  arrived: boolean;
  wanted: string | undefined;
}) {
  const shown = shownRecipient(message, wanted);
  const others = message.recipients.length - 1;
  const why = shown?.bounce?.explanation;
  return (
    <div
      className={classNames(
        'row-link grid h-full grid-cols-[1fr_auto] items-center gap-x-3 border-b border-line px-4 text-sm transition-colors hover:bg-sunken has-focus-visible:bg-sunken sm:px-6 md:grid-cols-[7rem_minmax(9rem,15rem)_1fr_auto_6rem]',
        arrived && 'arrived',
      )}
    >
      <span className="order-2 md:order-none">
        <StatusBadge status={message.status} />
      </span>
      <span className="order-1 min-w-0 truncate font-medium md:order-none">
        {shown?.email}
        {others > 0 && <span className="font-normal text-faint"> +{others}</span>}
      </span>
      <Link
        to="/messages/$id"
        params={{ id: message.id }}
        data-row
        className="cover order-3 min-w-0 truncate text-soft md:order-none md:text-ink"
      >
        {message.subject === '' ? (
          <span className="text-faint">no subject</span>
        ) : (
          <bdi>{message.subject}</bdi>
        )}
        {why !== undefined && <span className="ml-2 text-xs text-faint">{firstSentence(why)}</span>}
      </Link>
      <span className="hidden items-center gap-1 md:flex">
        {message.tags.slice(0, 2).map((tag) => (
          <Badge key={tag}>{tag}</Badge>
        ))}
      </span>
      <Time
        at={message.created_at}
        className="order-4 text-right text-xs text-faint md:order-none"
      />
    </div>
  );
}

/** Who was looked for, or who has the trouble that the status tells of, or the first. */
function shownRecipient({ recipients, status }: MessageSummary, wanted: string | undefined) {
  const text = wanted?.toLowerCase();
  return (
    (text && recipients.find(({ email }) => email.toLowerCase().includes(text))) ||
    recipients.find((recipient) => recipient.status === status) ||
    recipients[0]
  );
}

function firstSentence(words: string): string {
  return words.replace(/(?<=\.)\s.*$/s, '');
}

function NoMessages({ filters, onClear }: { filters: MessageFilters; onClear: () => void }) {
  const { mode } = useSelection();
  if (Object.keys(filters).length > 0) return <NoMatches filters={filters} onClear={onClear} />;
  return (
    <EmptyState
      icon={Mail}
      title={mode === 'live' ? 'No live message yet' : 'No test message yet'}
      actions={
        <Link to="/api-keys" search={{ new: 'true' }} className={buttonClass('primary')}>
          Create an API key
        </Link>
      }
      teach={<Snippets snippets={sendSnippets(`pr_${mode}_…`)} />}
    >
      Send one, and it appears here by itself, with everything that becomes of it.
    </EmptyState>
  );
}

/** Who looks for a message in the wrong mode would look for long: say so. */
function NoMatches({ filters, onClear }: { filters: MessageFilters; onClear: () => void }) {
  const { selection: place } = useApi();
  const other = place.mode === 'live' ? 'test' : 'live';
  const elsewhere = useQuery({
    queryKey: ['messages', place.workspaceId, other, filters, 'elsewhere'],
    queryFn: () => fetchMessages(apiFor({ ...place, mode: other }), filters, undefined),
    retry: false,
  });
  const isThere = (elsewhere.data?.data.length ?? 0) > 0;
  return (
    <EmptyState
      icon={SearchX}
      title="No message fits these filters"
      actions={
        <>
          {isThere && (
            <Button kind="primary" onClick={() => selectMode(other)}>
              Look in {other} mode
            </Button>
          )}
          <Button onClick={onClear}>Clear the filters</Button>
        </>
      }
    >
      {isThere
        ? `You are in ${place.mode} mode, and what fits them was sent in ${other} mode.`
        : 'A message is found from the moment it was accepted, until it is past its retention.'}
    </EmptyState>
  );
}

/** Which rows came in while somebody was looking. */
function useArrivals(rows: readonly MessageSummary[]): (id: string) => boolean {
  const newestAtFirst = useRef<string | undefined>(undefined);
  const newest = rows[0]?.id;
  useEffect(() => {
    newestAtFirst.current ??= newest;
  }, [newest]);
  return (id) => newestAtFirst.current !== undefined && id > newestAtFirst.current;
}
