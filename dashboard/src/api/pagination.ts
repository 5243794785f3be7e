import { useInfiniteQuery } from '@tanstack/react-query';

export interface CursorPage<T> {
  data: T[];
  next_cursor: string | null;
}

/** Polls a list while it may change without an event. */
export interface Polling<T> {
  while: (rows: readonly T[]) => boolean;
  everyMs: number;
}

/** A cursor-paginated list; `rows` holds all rows fetched so far. */
export function usePaginatedQuery<T>(
  queryKey: readonly unknown[],
  fetchPage: (cursor: string | undefined) => Promise<CursorPage<T>>,
  options: { enabled?: boolean; watch?: Polling<T> } = {},
) {
  const { watch, ...rest } = options;
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam }) => fetchPage(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    // Rows of the previous filter stay visible while loading, those of another workspace or mode never.
    placeholderData: (before, query) =>
      query?.queryKey[1] === queryKey[1] && query?.queryKey[2] === queryKey[2] ? before : undefined,
    ...(watch
      ? {
          refetchInterval: ({
            state,
          }: {
            state: { data: { pages: CursorPage<T>[] } | undefined };
          }) =>
            state.data && watch.while(state.data.pages.flatMap((page) => page.data))
              ? watch.everyMs
              : false,
        }
      : {}),
    ...rest,
  });
  return { ...query, rows: query.data?.pages.flatMap((page) => page.data) ?? [] };
}

const MAX_ROWS = 100;

/** Fetches every row of a list, for lookups and select options. */
export async function fetchAllRows<T>(
  fetchPage: (query: { limit: number; cursor?: string }) => Promise<CursorPage<T>>,
): Promise<T[]> {
  const rows: T[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await fetchPage(pageParams(cursor, MAX_ROWS));
    rows.push(...page.data);
    if (page.next_cursor === null) return rows;
    cursor = page.next_cursor;
  }
}

/** The query parameters for one page. */
export function pageParams(cursor: string | undefined, limit = 50) {
  return { limit, ...(cursor === undefined ? {} : { cursor }) };
}
