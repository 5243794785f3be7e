import { useInfiniteQuery } from '@tanstack/react-query';

export interface CursorPage<T> {
  data: T[];
  next_cursor: string | null;
}

/** Asked for again now and then, while something in it is under way that no event tells of. */
export interface Polling<T> {
  while: (row: T) => boolean;
  everyMs: number;
}

/** A list of the API, page by page; `rows` is all that was fetched so far. */
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
    // What another filter found may stay a moment; what belongs to another workspace or mode never.
    placeholderData: (before, query) =>
      query?.queryKey[1] === queryKey[1] && query?.queryKey[2] === queryKey[2] ? before : undefined,
    ...(watch
      ? {
          refetchInterval: ({ state }: { state: { data: { pages: CursorPage<T>[] } | undefined } }) =>
            state.data?.pages.some((page) => page.data.some(watch.while)) ? watch.everyMs : false,
        }
      : {}),
    ...rest,
  });
  return { ...query, rows: query.data?.pages.flatMap((page) => page.data) ?? [] };
}

const MAX_ROWS = 100;

/** Every row of a list, for those who must know them all: to name one, or to offer a choice. */
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

/** The query parameters for a page of the usual size. */
export function pageParams(cursor: string | undefined, limit = 50) {
  return { limit, ...(cursor === undefined ? {} : { cursor }) };
}
