import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';

export interface PageOf<T> {
  data: T[];
  next_cursor: string | null;
}

/** A list of the API, page by page; `rows` is all that was fetched so far. */
export function usePages<T>(
  queryKey: readonly unknown[],
  fetchPage: (cursor: string | undefined) => Promise<PageOf<T>>,
  options: { enabled?: boolean } = {},
) {
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam }) => fetchPage(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
    ...options,
  });
  return { ...query, rows: query.data?.pages.flatMap((page) => page.data) ?? [] };
}

/** The query parameters for a page of the usual size. */
export function pageQuery(cursor: string | undefined, limit = 50) {
  return { limit, ...(cursor === undefined ? {} : { cursor }) };
}
