import { useInfiniteQuery } from '@tanstack/react-query';

export interface PageOf<T> {
  data: T[];
  next_cursor: string | null;
}

/** Asked for again now and then, while something in it is under way that no event tells of. */
export interface Watch<T> {
  while: (row: T) => boolean;
  everyMs: number;
}

/** A list of the API, page by page; `rows` is all that was fetched so far. */
export function usePages<T>(
  queryKey: readonly unknown[],
  fetchPage: (cursor: string | undefined) => Promise<PageOf<T>>,
  options: { enabled?: boolean; watch?: Watch<T> } = {},
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
          refetchInterval: ({ state }: { state: { data: { pages: PageOf<T>[] } | undefined } }) =>
            state.data?.pages.some((page) => page.data.some(watch.while)) ? watch.everyMs : false,
        }
      : {}),
    ...rest,
  });
  return { ...query, rows: query.data?.pages.flatMap((page) => page.data) ?? [] };
}

const ROWS_MAX = 100;

/** Every row of a list, for those who must know them all: to name one, or to offer a choice. */
export async function everyRow<T>(
  fetchPage: (query: { limit: number; cursor?: string }) => Promise<PageOf<T>>,
): Promise<T[]> {
  const rows: T[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await fetchPage(pageQuery(cursor, ROWS_MAX));
    rows.push(...page.data);
    if (page.next_cursor === null) return rows;
    cursor = page.next_cursor;
  }
}

/** The query parameters for a page of the usual size. */
export function pageQuery(cursor: string | undefined, limit = 50) {
  return { limit, ...(cursor === undefined ? {} : { cursor }) };
}
