import { type InfiniteData, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { type Api, type Schema, unwrap } from '../../api/client.ts';
import { type CursorPage, usePaginatedQuery } from '../../api/pagination.ts';
import { waitForFirstLoad } from '../../api/refetch.ts';
import { useApi } from '../../api/use-api.ts';
import { onLiveEvents } from '../../layout/live-events.ts';
import { type TimeRange, timeQuery } from '../../lib/time-range.ts';

export type MessageSummary = Schema<'MessageSummary'>;

/** The page's search parameters. */
export interface MessageFilters extends TimeRange {
  q?: string;
  status?: string;
  recipient?: string;
  /** A mailbox provider, named as in the statistics, or a recipient domain. */
  receiver?: string;
  /** The sender domain. */
  domain?: string;
  stream?: string;
  tag?: string;
  template?: string;
  metadata?: string;
  /** Why a recipient did not get the message. */
  reason?: string;
  /** The id of the API key that sent it. */
  key?: string;
}

const PAGE_ROWS = 100;

/** The message list; new messages appear at the top without a reload. */
export function useMessages(filters: MessageFilters) {
  const { api, key } = useApi();
  const queries = useQueryClient();
  const queryKey = key('messages', filters);
  const list = usePaginatedQuery(queryKey, (cursor) => fetchMessages(api, filters, cursor));
  const keyText = JSON.stringify(queryKey);
  const latest = useRef({ api, filters, queryKey });
  latest.current = { api, filters, queryKey };
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new key means a new list to follow.
  useEffect(() => {
    let running = false;
    let again = false;
    const refresh = async (): Promise<void> => {
      if (running) {
        again = true;
        return;
      }
      running = true;
      const { api, filters, queryKey } = latest.current;
      try {
        // Merging needs the first page.
        await waitForFirstLoad(queries.getQueryCache().find({ queryKey }));
        const head = await fetchMessages(api, filters, undefined);
        queries.setQueryData<Pages>(queryKey, (known) => known && mergeNewest(known, head));
      } catch {
        // The next event triggers another refresh.
      }
      running = false;
      if (again) {
        again = false;
        void refresh();
      }
    };
    return onLiveEvents((events) => {
      const relevant = events.some(({ type }) => type.startsWith('message.'));
      if (relevant || events.length === 0) void refresh();
    });
  }, [queries, keyText]);
  return list;
}

type Pages = InfiniteData<CursorPage<MessageSummary>, string | undefined>;

/**
 * Merges the newest page into the list: changed rows are replaced, new ones come first. If the two
 * do not overlap, more than one page of messages has arrived and the list starts over.
 */
export function mergeNewest(known: Pages, head: CursorPage<MessageSummary>): Pages {
  const fresh = new Map(head.data.map((row) => [row.id, row]));
  const old = new Set(known.pages.flatMap((page) => page.data.map(({ id }) => id)));
  const overlaps = head.data.some(({ id }) => old.has(id)) || old.size === 0;
  const oldest = head.data.at(-1)?.id;
  if (!overlaps || oldest === undefined) return { pages: [head], pageParams: [undefined] };
  const added = head.data.filter(({ id }) => !old.has(id));
  const pages = known.pages.map((page, index) => ({
    ...page,
    data: [
      ...(index === 0 ? added : []),
      // A row that is missing from the newest page no longer matches the filter. IDs sort by time.
      ...page.data
        .filter(({ id }) => fresh.has(id) || id < oldest)
        .map((row) => fresh.get(row.id) ?? row),
    ],
  }));
  return { ...known, pages };
}

export function fetchMessages(api: Api, filters: MessageFilters, cursor: string | undefined) {
  const query = {
    limit: PAGE_ROWS,
    ...(cursor === undefined ? {} : { cursor }),
    ...messageQuery(filters),
  };
  return unwrap(api.GET('/api/v1/messages', { params: { query: query as { limit: number } } }));
}

/** The parameters of the API for these filters. */
export function messageQuery(filters: MessageFilters): Record<string, string> {
  const { q, status, recipient, receiver, domain, stream, tag, template, metadata } = filters;
  const { reason, key } = filters;
  const [name, ...value] = metadata?.split('=') ?? [];
  return {
    ...(q ? { q } : {}),
    ...(status ? { status } : {}),
    ...(recipient ? { recipient } : {}),
    ...(receiver ? { receiver } : {}),
    ...(domain ? { domain } : {}),
    ...(stream ? { stream } : {}),
    ...(tag ? { tag } : {}),
    ...(template ? { template_key: template } : {}),
    ...(name ? { [`metadata[${name}]`]: value.join('=') } : {}),
    ...(reason ? { reason } : {}),
    ...(key ? { api_key_id: key } : {}),
    ...timeQuery(filters, Date.now()),
  };
}
