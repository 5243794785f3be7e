import { type InfiniteData, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { type CursorPage, usePaginatedQuery } from '../api/pagination.ts';
import { waitForFirstLoad } from '../api/refetch.ts';
import { onLiveEvents } from './live-events.ts';

/**
 * A list of objects with sortable IDs, newest first. Events of the family refresh its newest page: new
 * rows appear at the top without a reload.
 */
export function useLiveList<T extends { id: string }>(
  queryKey: readonly unknown[],
  family: string,
  fetchPage: (cursor: string | undefined) => Promise<CursorPage<T>>,
) {
  const queries = useQueryClient();
  const list = usePaginatedQuery(queryKey, fetchPage);
  const keyText = JSON.stringify(queryKey);
  const latest = useRef({ fetchPage, queryKey });
  latest.current = { fetchPage, queryKey };
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
      const { fetchPage, queryKey } = latest.current;
      try {
        // Merging needs the first page.
        await waitForFirstLoad(queries.getQueryCache().find({ queryKey }));
        const head = await fetchPage(undefined);
        queries.setQueryData<Pages<T>>(queryKey, (known) => known && mergeNewest(known, head));
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
      const relevant = events.some(({ type }) => type.startsWith(`${family}.`));
      if (relevant || events.length === 0) void refresh();
    });
  }, [queries, keyText, family]);
  return list;
}

type Pages<T> = InfiniteData<CursorPage<T>, string | undefined>;

/**
 * Merges the newest page into the list: changed rows are replaced, new ones come first. If the two
 * do not overlap, more than one page of rows has arrived and the list starts over.
 */
function mergeNewest<T extends { id: string }>(known: Pages<T>, head: CursorPage<T>): Pages<T> {
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

/** Whether a row arrived while the page was open. */
export function useArrivals(rows: readonly { id: string }[]): (id: string) => boolean {
  const newestAtFirst = useRef<string | undefined>(undefined);
  const newest = rows[0]?.id;
  useEffect(() => {
    newestAtFirst.current ??= newest;
  }, [newest]);
  return (id) => newestAtFirst.current !== undefined && id > newestAtFirst.current;
}
